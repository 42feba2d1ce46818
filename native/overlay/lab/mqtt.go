package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Just enough of MQTT 3.1.1 for records with QoS 1. The session of the publisher lives as long as its TCP connection.

const recordTopic = "lab/records"

func mqttConnect(at, client string) (net.Conn, *bufio.Reader, error) {
	c, err := net.DialTimeout("tcp", at, 5*time.Second)
	if err != nil {
		return nil, nil, err
	}
	body := append([]byte{0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 0}, mqttText(client)...) // clean session, no keepalive
	r := bufio.NewReader(c)
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.Write(mqttPacket(0x10, body)); err != nil {
		c.Close()
		return nil, nil, err
	}
	kind, answer, err := mqttRead(r)
	if err == nil && (kind != 0x20 || len(answer) != 2 || answer[1] != 0) {
		err = fmt.Errorf("the broker refuses the connection: % x", answer)
	}
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	_ = c.SetDeadline(time.Time{})
	return c, r, nil
}

func mqttText(s string) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(s))), s...)
}

func mqttPacket(first byte, body []byte) []byte {
	return append(binary.AppendUvarint([]byte{first}, uint64(len(body))), body...)
}

func mqttRead(r *bufio.Reader) (first byte, body []byte, err error) {
	if first, err = r.ReadByte(); err != nil {
		return 0, nil, err
	}
	n, err := binary.ReadUvarint(r)
	if err != nil || n > 1<<20 {
		return 0, nil, errors.Join(err, errors.New("malformed length"))
	}
	body = make([]byte, n)
	_, err = io.ReadFull(r, body)
	return first, body, err
}

// published is the output of the tool publish.
type published struct {
	Records, Acknowledged, Connections int
	LongestWait                        float64 // s, for an acknowledgment
}

// publishPatience is how long publish waits for the last acknowledgments. The kernel's TCP leaves up to 120 s between two
// retransmissions, and one of them may get lost in the second that a pair without data needs to notice a change.
const publishPatience = 250 * time.Second

type record struct {
	number uint16
	sent   time.Time
}

// publish sends numbered records with QoS 1 through the overlay, ten a second, and waits until all are acknowledged. It
// reconnects after a broken connection and repeats unacknowledged records.
func publish(at, seconds string) error {
	limit, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var p published
	var waiting []record
	start := time.Now()
	until := start.Add(time.Duration(limit * float64(time.Second)))
	over := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().After(until) && len(waiting) == 0
	}
	giveUp := until.Add(publishPatience)
	for !over() && time.Now().Before(giveUp) {
		c, r, err := mqttConnect(at, "lab-publisher")
		if err != nil {
			time.Sleep(300 * time.Millisecond)
			continue
		}
		p.Connections++
		broken := make(chan struct{})
		go func() {
			defer close(broken)
			for {
				kind, body, err := mqttRead(r)
				if err != nil {
					return
				}
				if kind != 0x40 || len(body) != 2 {
					continue
				}
				id := binary.BigEndian.Uint16(body)
				mu.Lock()
				for i, w := range waiting {
					if w.number == id {
						p.Acknowledged++
						p.LongestWait = max(p.LongestWait, time.Since(w.sent).Seconds())
						waiting = append(waiting[:i:i], waiting[i+1:]...)
						break
					}
				}
				mu.Unlock()
			}
		}()
		send := func(n uint16, again byte) error {
			body := mqttText(recordTopic)
			body = binary.BigEndian.AppendUint16(body, n)
			body = append(body, strconv.Itoa(int(n))...)
			_, err := c.Write(mqttPacket(0x32|again, body))
			return err
		}
		mu.Lock()
		again := append([]record(nil), waiting...)
		mu.Unlock()
		for _, w := range again {
			if err = send(w.number, 8); err != nil {
				break
			}
		}
		tick := time.NewTicker(100 * time.Millisecond)
	loop:
		for err == nil && !over() && time.Now().Before(giveUp) {
			select {
			case <-broken:
				break loop
			case now := <-tick.C:
				if now.After(until) {
					continue
				}
				mu.Lock()
				p.Records++
				n := uint16(p.Records)
				waiting = append(waiting, record{n, now})
				mu.Unlock()
				err = send(n, 0)
			}
		}
		tick.Stop()
		c.Close()
		<-broken
	}
	mu.Lock()
	defer mu.Unlock()
	return json.NewEncoder(os.Stdout).Encode(p)
}

const (
	// lateQuiet is the silence after which no record comes any more; lateMost is the longest wait for it.
	lateQuiet = time.Second
	lateMost  = 10 * time.Second
)

// subscribed is the output of the tool subscribe.
type subscribed struct{ Distinct, Copies int }

// subscribe counts the records at the broker until SIGTERM, and late ones after that. It creates the file ready when
// the broker has the subscription.
func subscribe(at, ready string) error {
	c, r, err := mqttConnect(at, "lab-subscriber")
	if err != nil {
		return err
	}
	body := append([]byte{0, 1}, mqttText(recordTopic)...)
	if _, err := c.Write(mqttPacket(0x82, append(body, 1))); err != nil {
		return err
	}
	var mu sync.Mutex
	seen := map[string]int{}
	last := time.Now()
	go func() {
		for {
			kind, body, err := mqttRead(r)
			if err != nil {
				return
			}
			if kind == 0x90 {
				_ = os.WriteFile(ready, nil, 0o600)
			}
			if kind&0xf0 != 0x30 || len(body) < 4+len(recordTopic) {
				continue
			}
			id, text := body[2+len(recordTopic):4+len(recordTopic)], body[4+len(recordTopic):]
			mu.Lock()
			seen[string(text)]++
			last = time.Now()
			mu.Unlock()
			_, _ = c.Write(mqttPacket(0x40, id))
		}
	}()
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	<-end
	for begun := time.Now(); time.Since(begun) < lateMost; time.Sleep(50 * time.Millisecond) {
		mu.Lock()
		quiet := time.Since(last) > lateQuiet
		mu.Unlock()
		if quiet {
			break
		}
	}
	mu.Lock()
	defer mu.Unlock()
	s := subscribed{Distinct: len(seen)}
	for _, n := range seen {
		s.Copies += n - 1
	}
	return json.NewEncoder(os.Stdout).Encode(s)
}

// session is an MQTT session through the overlay: a broker and a subscriber at b, a publisher at a.
type session struct {
	sub, pub  func() ([]byte, error)
	endSub    func()
	published published
	received  subscribed
}

// mqtt starts a session that publishes for some seconds.
func (l *lab) mqtt(target string, seconds int) (*session, error) {
	conf := "listener 1883 0.0.0.0\nallow_anonymous true\nmax_inflight_messages 0\nmax_queued_messages 0\n"
	file := l.dir("mosquitto.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		return nil, err
	}
	if _, err := l.spawn("b", "mosquitto.log", "mosquitto", "-c", file); err != nil {
		return nil, err
	}
	s := &session{}
	if err := until(startLimit, "the broker answers", func() bool {
		return l.in("b", l.self, "probe", target+":"+mqttPort).Run() == nil
	}); err != nil {
		return nil, err
	}
	ready := l.dir("subscribed")
	_ = os.Remove(ready)
	sub := l.in("b", l.self, "subscribe", target+":"+mqttPort, ready)
	var err error
	if s.sub, err = collect(sub); err != nil {
		return nil, err
	}
	s.endSub = func() { _ = sub.Process.Signal(syscall.SIGTERM) }
	// The subscription is there before the first record.
	if err := until(startLimit, "the subscription", func() bool { _, err := os.Stat(ready); return err == nil }); err != nil {
		return nil, err
	}
	s.pub, err = collect(l.in("a", l.self, "publish", target+":"+mqttPort, strconv.Itoa(seconds)))
	return s, err
}

// wait returns when all records are acknowledged, with an error if one is lost.
func (s *session) wait() error {
	out, err := s.pub()
	if err == nil {
		err = json.Unmarshal(out, &s.published)
	}
	s.endSub()
	got, err2 := s.sub()
	if err2 == nil {
		err2 = json.Unmarshal(got, &s.received)
	}
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("MQTT: %w", err)
	}
	if lost := s.published.Records - s.received.Distinct; lost != 0 || s.published.Acknowledged != s.published.Records {
		return fmt.Errorf("MQTT: %d of %d records lost, %d acknowledged", lost, s.published.Records, s.published.Acknowledged)
	}
	return nil
}

func (s *session) String() string {
	return fmt.Sprintf("MQTT: %d records, %d lost, %d copies, %d connection(s), longest wait %.1f s", s.published.Records,
		s.published.Records-s.received.Distinct, s.received.Copies, s.published.Connections, s.published.LongestWait)
}
