package config

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// FuzzLoad: for any text, reading ends without a panic, and gives either a pipeline that does not
// change when it is written and read again, or errors that each have a place in the file.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/*.good.yaml", "testdata/*.bad.yaml"} {
		for _, name := range corpus(f, pattern) {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text, "")
		}
	}
	f.Add([]byte(base), "masks.0.noise.sd=3")
	f.Add([]byte(base), "columns.a.b.role=key")
	f.Add([]byte(byHand), "map.vary.masks.1.noise.sd.steps=3")
	f.Add([]byte(byHand), "map.strategies.0.masks.0.swap.rate=0.2")
	f.Add([]byte(base), "assess.keys.0=wage")
	f.Add([]byte(base+"assess: {keys: [wage]}\n"), "assess.intruder.bayes.phi.wage=0.1")
	f.Add([]byte(base+"assess: {keys: [wage], intruder: {uniqueness: {}}}\n"), "assess.intruder.uniqueness.k.0=4")
	f.Fuzz(func(t *testing.T, text []byte, set string) {
		if strings.Contains(string(text), "${file:") {
			return // the fuzzer must not read other files of the machine
		}
		opts := Options{LookupEnv: lookup}
		if set != "" {
			opts.Set = []string{set}
		}
		p, err := Parse("fuzz.yaml", text, opts)
		if err == nil {
			again, err := Parse("fuzz.yaml", p.canonical(), Options{LookupEnv: lookup})
			if err != nil {
				t.Fatalf("its own output does not load: %v\n%s", err, p.canonical())
			}
			if again.SHA256() != p.SHA256() {
				t.Fatalf("changed when written and read:\n%s\n%s", p.canonical(), again.canonical())
			}
			rewriteAll(t, p, text)
			return
		}
		var all Errors
		if !errors.As(err, &all) || len(all) == 0 {
			t.Fatalf("must be Errors, got %T", err)
		}
		lines := strings.Count(string(text), "\n") + 1
		for _, e := range all {
			fromFlag := strings.HasPrefix(e.File, "--set ")
			if e.Text == "" || !fromFlag &&
				(e.File != "fuzz.yaml" || e.Line < 1 ||
					e.Line > lines+strings.Count(string(text), "\r")+strings.Count(string(text), "\u2028")+
						strings.Count(string(text), "\u2029")+strings.Count(string(text), "\u0085") || e.Column < 1) {
				t.Fatalf("an error without a place: %+v", e)
			}
		}
	})
}

// rewriteAll: the masks at every corner of a map can be made, and a choice of them is written back
// or refused. Rewritten itself reads the text again.
func rewriteAll(t *testing.T, p *Pipeline, text []byte) {
	strategies, err := p.MapStrategies()
	if err != nil {
		return
	}
	for _, s := range strategies[:min(3, len(strategies))] {
		least, greatest := map[string]float64{}, []float64(nil)
		for _, a := range s.Axes {
			if !slices.IsSorted(a.Values) || len(a.Values) < 2 {
				t.Fatalf("the points of an axis: %v", a)
			}
			least[a.Path], greatest = a.Values[0], append(greatest, a.Values[len(a.Values)-1])
		}
		if _, err := s.Masks(greatest); err != nil {
			t.Fatalf("masks that were checked at the corners: %v", err)
		}
		out, err := p.Rewritten(s.Name, least)
		if (err == nil) != (len(out) > 0) {
			t.Fatalf("%d bytes and %v", len(out), err)
		}
		if out, err = p.Rewritten(s.Name, nil); err == nil && s.Name == Configured && !bytes.Equal(out, text) {
			t.Fatalf("changed without a choice:\n%s\n%s", text, out)
		}
	}
}
