package eyeballs

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// way is how an address behaves: it answers or fails after some time, or is silent until its context ends.
type way struct {
	after  time.Duration
	fails  bool
	silent bool
}

// race runs First in a bubble of fake time.
func race(t *testing.T, limit time.Duration, ways ...way) (number int, took time.Duration, dropped, ended int64, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		var drops, ends atomic.Int64
		start := time.Now()
		_, number, err = First(ctx, len(ways), time.Second, func(ctx context.Context, i int) (int, error) {
			defer ends.Add(1)
			w := ways[i]
			if w.silent {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			time.Sleep(w.after) // also after the context's end: it was connected at the same moment
			if w.fails {
				return 0, errors.New("refused " + strconv.Itoa(i))
			}
			return i, nil
		}, func(int) { drops.Add(1) })
		took = time.Since(start)
		time.Sleep(time.Hour)
		dropped, ended = drops.Load(), ends.Load()
	})
	return number, took, dropped, ended, err
}

func TestTheFirstAddressThatAnswersIsUsed(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		ways           []way
		number         int
		took           time.Duration
		dropped, ended int64
	}{
		"only one": {[]way{{after: 30 * ms}}, 0, 30 * ms, 0, 1},
		"the next one does not begin without need":     {[]way{{after: 900 * ms}, {after: ms}}, 0, 900 * ms, 0, 1},
		"a refused one delays nothing":                 {[]way{{after: ms, fails: true}, {after: 2 * ms}}, 1, 3 * ms, 0, 2},
		"a silent one delays the next one by a second": {[]way{{silent: true}, {after: 5 * ms}}, 1, 1005 * ms, 0, 2},
		"two silent ones delay by two seconds":         {[]way{{silent: true}, {silent: true}, {after: 5 * ms}}, 2, 2005 * ms, 0, 3},
		"a slow one may still win":                     {[]way{{after: 1500 * ms}, {silent: true}}, 0, 1500 * ms, 0, 2},
		"what comes later is dropped":                  {[]way{{after: 1500 * ms}, {after: 600 * ms}}, 0, 1500 * ms, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			number, took, dropped, ended, err := race(t, time.Minute, c.ways...)
			if err != nil || number != c.number || took != c.took || dropped != c.dropped || ended != c.ended {
				t.Errorf("number %d after %v, %d dropped, %d ended, %v", number, took, dropped, ended, err)
			}
		})
	}
}

func TestAllErrorsAreReported(t *testing.T) {
	_, _, _, _, err := race(t, time.Minute, way{after: 2 * time.Second, fails: true}, way{fails: true})
	if err == nil || strings.ReplaceAll(err.Error(), "\n", ", ") != "refused 0, refused 1" {
		t.Errorf("%v", err)
	}
}

func TestTheEndOfTheContextEndsTheRace(t *testing.T) {
	_, took, _, ended, err := race(t, 1500*time.Millisecond, way{silent: true}, way{silent: true}, way{silent: true})
	if !errors.Is(err, context.DeadlineExceeded) || took != 1500*time.Millisecond || ended != 2 {
		t.Errorf("after %v, %d ended, %v", took, ended, err)
	}
	if _, _, _, _, err := race(t, 0, way{silent: true}, way{after: time.Second}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a context that has ended: %v", err)
	}
}
