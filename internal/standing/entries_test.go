package standing

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Records before Next were counted earlier.
func TestReplays(t *testing.T) {
	o := options(t)
	rng := rand.New(rand.NewPCG(3, 3))
	for _, held := range []bool{false, true} {
		r := makeRows(rng, 2, 300)
		for i := range r.held {
			r.held[i] = held && i >= 100
		}
		l := newStanding(t, o, maxValue)
		if got := l.Add(r.block(0, 100)); got != 100 {
			t.Errorf("%d records were taken in, want 100", got)
		}
		_, err := l.Entries(r.place[99] + 1)
		must(t, err)
		l.Commit()
		if got := l.Add(r.block(20, 100)); got != 0 {
			t.Errorf("%d records were taken in again", got)
		}
		l.AddHeld(r.block(20, 100))
		l.AddHeld(new(microdata.Block))
		l.Add(new(microdata.Block))
		if _, delta := l.Counts(); delta != (Counts{}) {
			t.Errorf("counted again: %+v", delta)
		}
		if held {
			l.AddHeld(r.block(37, 150))
		} else if got := l.Add(r.block(37, 150)); got != 50 {
			t.Errorf("%d records were taken in, want 50", got)
		}
		if got := l.last; got != r.place[149] {
			t.Errorf("the last place is %d, want %d", got, r.place[149])
		}
		open(t, o, l, r, 150)
		for _, next := range []int64{r.place[99], r.place[149]} {
			if _, err := l.Entries(next); err == nil {
				t.Errorf("next %d must be refused: the last record's place is %d", next, r.place[149])
			}
		}
	}
}

// A commit without new records of a partition writes nothing; if only the offset has moved, it
// writes a header.
func TestNothingAdded(t *testing.T) {
	o := options(t)
	l, log := newStanding(t, o, maxValue), new(topic)
	entries, err := l.Entries(0)
	must(t, err)
	if entries != nil {
		t.Errorf("%d entries without records", len(entries))
	}
	l.Commit()
	r := makeRows(rand.New(rand.NewPCG(4, 4)), 0, 200)
	clear(r.held)
	l.Add(r.block(0, 200))
	next := r.place[199] + 1
	entries, err = l.Entries(next)
	must(t, err)
	log.write(entries)
	l.Commit()
	before := l.written
	l.Commit() // a transaction without records of the partition
	if entries, err = l.Entries(next); err != nil || entries != nil || l.written != before {
		t.Errorf("%d entries, %v, and the written state is %+v, before %+v", len(entries), err, l.written, before)
	}
	l.Commit()
	entries, err = l.Entries(next + 7)
	must(t, err)
	if len(entries) != 1 || len(entries[0].Value) != headerSize {
		t.Errorf("%d entries where an offset has moved", len(entries))
	}
	log.write(entries)
	l.Commit()
	again := loaded(t, o, log.log, maxValue)
	if again.Next() != next+7 || again.written != l.written {
		t.Errorf("next is %d, want %d", again.Next(), next+7)
	}
	checkWhole(t, o, again, r)
}

// For a stream of a million records, a commit of ten records is small.
func TestSmallCommits(t *testing.T) {
	o := options(t)
	o.Sample, o.Extremes = 0, 0 // the default
	const n, size = 1_000_000, 10_000
	l, log := newStanding(t, o, maxValue), new(topic)
	rng := rand.New(rand.NewPCG(5, 5))
	r := makeRows(rng, 0, size)
	for i := range r.place {
		r.place[i] = int64(i)
	}
	b := r.block(0, size)
	for b.First = 0; b.First < n; b.First += size {
		l.Add(b)
		entries, err := l.Entries(b.First + size)
		must(t, err)
		log.write(entries)
		l.Commit()
	}
	written := 0
	for i := range int64(40) {
		small := r.block(100*int(i), 100*int(i)+10)
		small.First = n + 10*i
		l.Add(small)
		entries, err := l.Entries(n + 10*i + 10)
		must(t, err)
		for _, e := range entries {
			if string(e.Key[:4]) == "base" {
				continue
			}
			written++
			if len(e.Value) > 4<<10 {
				t.Errorf("10 records of %d take %d bytes", n, len(e.Value))
			}
		}
		log.write(entries)
		l.Commit()
	}
	if written < 30 {
		t.Errorf("%d segments of 40 commits", written)
	}
	if again := loaded(t, o, log.log, maxValue); again.Next() != l.Next() ||
		again.Whole().Records() != l.Whole().Records() {
		t.Errorf("%d records are taken up, want %d", again.Whole().Records(), l.Whole().Records())
	}
}

// A base is written when the slots are used up, and when segments have become larger than the last
// base.
func TestWhenBasesAreWritten(t *testing.T) {
	o := options(t)
	rng := rand.New(rand.NewPCG(6, 6))
	r := makeRows(rng, 0, 4000)
	clear(r.held)
	commit := func(l *Standing, from, to int) string {
		l.Add(r.block(from, to))
		entries, err := l.Entries(r.place[to-1] + 1)
		must(t, err)
		l.Commit()
		return string(entries[0].Key)
	}
	l := newStanding(t, o, maxValue)
	keys := []string{commit(l, 0, 2000)}
	l.written.base = 1 << 30 // so that only slots count
	for i := range 2 * slots {
		keys = append(keys, commit(l, 2000+i, 2001+i))
	}
	want := []string{"base/1/000"}
	for i := range slots {
		want = append(want, fmt.Sprintf("segment/%02d/000", (i+1)%slots))
	}
	want = append(want, "base/0/000", "segment/01/000")
	if !slices.Equal(keys[:len(want)], want) {
		t.Errorf("keys are %v", keys)
	}
	l = newStanding(t, o, maxValue)
	commit(l, 0, 100)
	seen := map[string]bool{}
	for i := range 100 {
		before := l.written
		key := commit(l, 100+10*i, 110+10*i)
		if is := strings.HasPrefix(key, "base"); is {
			seen[key] = true
			if before.seq == slots {
				t.Fatal("the slots were used up")
			}
		} else if l.written.segments > l.written.base {
			t.Errorf("segments of %d bytes on a base of %d", l.written.segments, l.written.base)
		}
	}
	if !seen["base/0/000"] || !seen["base/1/000"] {
		t.Errorf("bases were written under %v", seen)
	}
}

// Another fingerprint comes from another name or from other options that determine the content.
func TestFingerprints(t *testing.T) {
	seen := map[fingerprint]string{}
	for what, change := range map[string]func(*assess.Options){
		"none":     func(*assess.Options) {},
		"name":     func(*assess.Options) {},
		"sample":   func(o *assess.Options) { o.Sample++ },
		"extremes": func(o *assess.Options) { o.Extremes++ },
		"columns":  func(o *assess.Options) { o.Columns = o.Columns[:1] },
		"key":      func(o *assess.Options) { o.Key = keystream.Key{} },
		"carry":    func(o *assess.Options) { o.Carry = []int{5} },
	} {
		o, name := options(t), ""
		change(&o)
		if what == "name" {
			name = "other"
		}
		l, err := New(o, name)
		must(t, err)
		if other, twice := seen[l.fingerprint]; twice {
			t.Errorf("%s and %s have the same fingerprint", what, other)
		}
		seen[l.fingerprint] = what
	}
	o := options(t)
	o.Columns = nil
	if _, err := New(o, ""); err == nil {
		t.Error("options without columns must be refused")
	}
	if _, err := Load(o, "", sequence(nil)); err == nil {
		t.Error("options without columns must be refused")
	}
}
