package control

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for line, ok := range map[string]bool{
		`{"id":1,"method":"status"}`:                       true,
		`{"id":1,"method":"ping","params":{"name":"hub"}}`: true,
		`{"id":0,"method":"status"}`:                       false,
		`{"id":1}`:                                         false,
		`{"id":1,"method":"status"} x`:                     false,
		`{"id":1,"method":"status","more":1}`:              false,
		`[]`:                                               false,
		``:                                                 false,
		`{"id":1,"method":"` + strings.Repeat("x", MaxLine): false,
	} {
		if _, err := Parse([]byte(line)); (err == nil) != ok {
			t.Errorf("%.60q: %v", line, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"forward","params":{"network":"tcp","local":"127.0.0.1:0","remote":"hub:7"}}`))
	f.Add([]byte(`{"id":2,"method":"offer","params":{"name":"mqtt","network":"tcp","port":1883,"target":"127.0.0.1:1883"}}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := Parse(line)
		if err != nil {
			return
		}
		if r.ID <= 0 || r.Method == "" {
			t.Fatalf("%+v", r)
		}
		_, _ = parseParams(r.Params)
	})
}
