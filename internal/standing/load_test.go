package standing

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
)

// history commits rows in steps and returns the topic, the committed places in order, and the
// standing.
func history(tb testing.TB, o assess.Options, r *rows, limit int, steps ...int) (*topic, []int64, *Standing) {
	tb.Helper()
	l, log, nexts := newStanding(tb, o, limit), new(topic), []int64{0}
	from := 0
	for _, n := range steps {
		commit(tb, l, log, r, from, from+n)
		from += n
		nexts = append(nexts, l.Next())
	}
	return log, nexts, l
}

func commit(tb testing.TB, l *Standing, log *topic, r *rows, from, to int) {
	tb.Helper()
	r.add(rand.New(rand.NewPCG(1, 1)), l, from, to)
	entries, err := l.Entries(r.place[to-1] + 1)
	must(tb, err)
	log.write(entries)
	l.Commit()
}

// Values are divided at 512 KiB and joined again.
func TestLargeValues(t *testing.T) {
	o := options(t)
	o.Sample = 1 << 20 // every record is kept
	r := makeRows(rand.New(rand.NewPCG(1, 1)), 0, 40_000)
	clear(r.held)
	log, _, l := history(t, o, r, maxValue, 10_000, 30_000)
	for _, e := range log.log {
		if len(e.Value) > maxValue {
			t.Errorf("%s has %d bytes", e.Key, len(e.Value))
		}
	}
	if len(log.log) < 4 {
		t.Errorf("%d values", len(log.log))
	}
	checkWhole(t, o, l, r)
	again := loaded(t, o, log.log, maxValue)
	checkWhole(t, o, again, r)
	if again.Next() != l.Next() || again.written != l.written {
		t.Errorf("taken up: %+v, want %+v", again.written, l.written)
	}
}

// If only some chunks of a base were written, the previous base stays usable, and the next writes
// on top of it are complete.
func TestBaseCutShort(t *testing.T) {
	o := options(t)
	r := makeRows(rand.New(rand.NewPCG(2, 2)), 0, 400)
	const limit = headerSize + 500
	log, nexts, _ := history(t, o, r, limit, 100, 3, 4)
	for kept := 0; ; kept++ {
		l := loaded(t, o, log.log, limit)
		l.written.seq = slots // so that a base is due
		r.add(rand.New(rand.NewPCG(1, 1)), l, 107, 200)
		entries, err := l.Entries(r.place[199] + 1)
		must(t, err)
		if !strings.HasPrefix(string(entries[0].Key), "base/0/") || len(entries) < 4 {
			t.Fatalf("%d entries, the first %s", len(entries), entries[0].Key)
		}
		if testing.Short() && kept > 1 && kept < len(entries)-1 && kept != len(entries)/2 {
			continue
		}
		cut := &topic{log: slices.Clone(log.log)}
		cut.write(entries[:kept])
		again := loaded(t, o, cut.log, limit)
		if kept == len(entries) {
			if again.Next() != r.place[199]+1 {
				t.Errorf("the whole base: next is %d", again.Next())
			}
			break
		}
		if again.Next() != nexts[len(nexts)-1] {
			t.Fatalf("%d of %d chunks: next is %d, want %d", kept, len(entries), again.Next(), nexts[len(nexts)-1])
		}
		checkWhole(t, o, again, r)
		for i := 107; i < 300; i += 10 { // segments, and a base over the truncated one
			commit(t, again, cut, r, i, i+10)
			next := loaded(t, o, cut.log, limit)
			if next.Next() != again.Next() {
				t.Fatalf("%d of %d chunks: next is %d, want %d", kept, len(entries), next.Next(), again.Next())
			}
			checkWhole(t, o, next, r)
		}
	}
}

// A base of an aborted transaction does not hide later writes.
func TestBaseGivenUp(t *testing.T) {
	o := options(t)
	r := makeRows(rand.New(rand.NewPCG(3, 3)), 0, 400)
	log, _, l := history(t, o, r, maxValue, 5)
	r.add(rand.New(rand.NewPCG(1, 1)), l, 5, 300) // becomes larger than the base
	entries, err := l.Entries(r.place[299] + 1)
	must(t, err)
	if string(entries[0].Key) != "base/0/000" {
		t.Fatalf("%s was written", entries[0].Key)
	}
	log.write(entries)
	l.Rollback()
	for i := 5; i < 350; i += 5 {
		commit(t, l, log, r, i, i+5)
		again := loaded(t, o, log.log, maxValue)
		if again.Next() != l.Next() {
			t.Fatalf("next is %d, want %d", again.Next(), l.Next())
		}
		checkWhole(t, o, again, r)
	}
}

// Any entries of older epochs may remain.
func TestRemainsOfOlderEpochs(t *testing.T) {
	o := options(t)
	rng := rand.New(rand.NewPCG(4, 4))
	for range trials(40) {
		limit := headerSize + 200 + rng.IntN(5000)
		var steps []int
		for range 1 + rng.IntN(150) {
			steps = append(steps, 1+rng.IntN(6))
		}
		r := makeRows(rng, 0, 1000)
		log, _, l := history(t, o, r, limit, steps...)
		gone := map[string]bool{}
		for _, e := range log.log {
			var h header
			if _, err := h.parse(e.Value); err == nil {
				gone[string(e.Key)] = h.epoch < l.written.epoch && rng.IntN(2) == 0
			}
		}
		left := slices.DeleteFunc(log.compacted(rng), func(e Entry) bool { return gone[string(e.Key)] })
		for key, is := range gone {
			if is && rng.IntN(2) == 0 {
				left = append(left, Entry{Key: []byte(key)}) // a tombstone
			}
		}
		again := loaded(t, o, left, limit)
		if again.Next() != l.Next() || again.written != l.written {
			t.Fatalf("next is %d, %+v, want %d, %+v", again.Next(), again.written, l.Next(), l.written)
		}
		checkWhole(t, o, again, r)
	}
}

// State with other measures or of another version is not resumed. Later state is resumed, and not
// mistaken for it.
func TestStale(t *testing.T) {
	o := options(t)
	r := makeRows(rand.New(rand.NewPCG(5, 5)), 0, 400)
	log, _, _ := history(t, o, r, maxValue, 50, 5, 100, 5)
	other := o
	other.Sample++
	later := &topic{log: slices.Clone(log.log)}
	for i, e := range later.log {
		value := bytes.Clone(e.Value)
		value[5]++
		copy(value[fixedSize:], "whatever a later version has here")
		later.log[i].Value = value
	}
	for what, c := range map[string]struct {
		o    assess.Options
		name string
		log  *topic
	}{"name": {o, "other", log}, "sample": {other, "name", log}, "version": {o, "name", later}} {
		l, err := Load(c.o, c.name, sequence(c.log.log))
		must(t, err)
		if whole, delta := l.Counts(); !l.Stale() || whole != (Counts{}) || delta != (Counts{}) || l.Next() != 0 ||
			l.Whole().Records() != 0 {
			t.Errorf("%s: stale is %v, %+v, %+v", what, l.Stale(), whole, delta)
		}
		// It begins again, and can be resumed at every step.
		both := &topic{log: slices.Clone(c.log.log)}
		for i := 200; i < 300; i += 10 {
			commit(t, l, both, r, i, i+10)
			again, err := Load(c.o, c.name, sequence(both.log))
			must(t, err)
			if is, _ := again.Counts(); again.Stale() || is.Read != int64(i+10-200) || again.Next() != l.Next() {
				t.Errorf("%s: %d rows, want %d; stale: %v", what, is.Read, i+10-200, again.Stale())
			}
		}
		if what == "version" {
			continue
		}
		// A return to the first fingerprint finds its state outdated.
		first, err := Load(o, "name", sequence(both.log))
		must(t, err)
		if !first.Stale() || first.Next() != 0 {
			t.Errorf("%s: an outdated state is resumed", what)
		}
		for i := 300; i < 340; i += 10 {
			commit(t, first, both, r, i, i+10)
			again := loaded(t, o, both.log, maxValue)
			if is, _ := again.Counts(); is.Read != int64(i+10-300) {
				t.Errorf("%s: %d rows, want %d", what, is.Read, i+10-300)
			}
		}
	}
	if l := loaded(t, o, nil, maxValue); l.Next() != 0 {
		t.Error("an empty topic is an empty standing")
	}
}

// Damage is reported with the key and never with the content. If a state is resumed despite damage,
// it is the state after an earlier commit, or none.
func TestDamage(t *testing.T) {
	o := options(t)
	r := makeRows(rand.New(rand.NewPCG(6, 6)), 0, 400)
	log, nexts, _ := history(t, o, r, headerSize+900, 200, 5, 5, 5)
	rng := rand.New(rand.NewPCG(7, 7))
	damaged := 0
	for i := range log.log {
		value := log.log[i].Value
		at := rng.Perm(len(value))[:min(len(value), trials(80))]
		for b := range headerSize {
			at = append(at, b)
		}
		for _, b := range at {
			entries := slices.Clone(log.log)
			entries[i].Value = bytes.Clone(value)
			entries[i].Value[b] ^= 1 << rng.IntN(8)
			l, err := Load(o, "name", sequence(entries))
			what := fmt.Sprintf("byte %d of %s", b, entries[i].Key)
			if err != nil {
				damaged++
				checkDamaged(t, err, what)
				continue
			}
			if !slices.Contains(nexts, l.Next()) {
				t.Errorf("%s: next is %d", what, l.Next())
			}
			if l.Next() > 0 {
				checkWhole(t, o, l, r)
			}
		}
		for n := range headerSize {
			entries := slices.Clone(log.log)
			if entries[i].Value = value[:n]; n == 0 {
				continue // a tombstone
			}
			_, err := Load(o, "name", sequence(entries))
			checkDamaged(t, err, fmt.Sprintf("%d bytes of %s", n, entries[i].Key))
		}
	}
	if damaged < 100 {
		t.Errorf("%d damages were found", damaged)
	}
}

func checkDamaged(t *testing.T, err error, what string) {
	t.Helper()
	var d *DamagedError
	if !errors.As(err, &d) || d.Unwrap() == nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	reasons := []error{errShort, errMagic, errHeader, errElsewhere, errChecksum, errContent, errMissing, errNoBase}
	if !slices.Contains(reasons, d.Reason) ||
		err.Error() != fmt.Sprintf("standing: the value of key %q %v", d.Key, d.Reason) {
		t.Errorf("%s: %v", what, err)
	}
}

// Damage that a checksum does not show, and missing entries.
func TestDoesNotFitTogether(t *testing.T) {
	o := options(t)
	r := makeRows(rand.New(rand.NewPCG(8, 8)), 0, 400)
	log, nexts, l := history(t, o, r, headerSize+900, 200, 5, 5)
	index := func(key string) int {
		return slices.IndexFunc(log.log, func(e Entry) bool { return string(e.Key) == key })
	}
	without := func(keys ...string) []Entry {
		return slices.DeleteFunc(slices.Clone(log.log), func(e Entry) bool { return slices.Contains(keys, string(e.Key)) })
	}
	// changed returns the log with another header or payload of a value, and with the correct
	// checksum.
	changed := func(key string, change func(h *header, payload []byte) []byte) []Entry {
		var h header
		_, err := h.parse(log.log[index(key)].Value)
		must(t, err)
		var payload []byte
		var keys []string
		for _, e := range log.log {
			if bytes.HasPrefix(e.Key, []byte(key[:len(key)-3])) {
				payload = append(payload, e.Value[headerSize:]...)
				keys = append(keys, string(e.Key))
			}
		}
		payload = change(&h, payload)
		return append(without(keys...), l.cut(h, [][]byte{payload[:len(payload)/2], payload[len(payload)/2:]})...)
	}
	for what, c := range map[string]struct {
		entries []Entry
		key     string
		reason  error
	}{
		"nothing changed":           {changed("segment/02/000", func(_ *header, p []byte) []byte { return p }), "", nil},
		"no base":                   {without("base/1/000"), "segment/01/000", errNoBase},
		"no segment before another": {without("segment/01/000"), "segment/01/000", errMissing},
		"a value under another key": {
			append(without("segment/02/000"), Entry{[]byte("segment/03/000"), log.log[index("segment/02/000")].Value}),
			"segment/03/000", errElsewhere},
		"what is none": {append(slices.Clone(log.log), Entry{[]byte("files"), []byte("a list of files")}),
			"files", errShort},
		"what is none and longer": {append(slices.Clone(log.log), Entry{[]byte("files"), []byte("a longer list of files")}),
			"files", errMagic},
		"an epoch out of range": {changed("segment/02/000", func(h *header, p []byte) []byte {
			h.epoch = 1<<62 + 1
			return p
		}),
			"segment/02/000", errHeader},
		"a place before the last": {changed("segment/02/000", func(h *header, p []byte) []byte { h.next = 1; return p }),
			"segment/02/000", errContent},
		"counts of others": {changed("segment/02/000", func(h *header, p []byte) []byte {
			h.counts.Read++
			h.counts.Released++
			return p
		}),
			"segment/02/000", errContent},
		"counts that do not add up": {changed("segment/02/000", func(h *header, p []byte) []byte {
			h.counts.Read--
			return p
		}), "segment/02/000", errHeader},
		"counts that overflow": {changed("segment/02/000", func(h *header, p []byte) []byte {
			h.counts = Counts{Read: maxCount, Released: maxCount - 1, Held: 1}
			return p
		}), "segment/02/000", errContent},
		"a segment cut short": {changed("segment/02/000", func(_ *header, p []byte) []byte { return p[:len(p)/2] }),
			"segment/02/000", errContent},
		"a base without its whole": {changed("base/1/000", func(_ *header, p []byte) []byte { return p[:4] }),
			"base/1/000", errContent},
		"a base with too long a one": {changed("base/1/000", func(_ *header, p []byte) []byte { p[0] = 0xff; return p }),
			"base/1/000", errContent},
		"a base with too short a one": {changed("base/1/000", func(_ *header, p []byte) []byte { p[7]--; return p }),
			"base/1/000", errContent},
	} {
		l, err := Load(o, "name", sequence(c.entries))
		if c.reason == nil {
			if err != nil || l.Next() != nexts[len(nexts)-1] {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		var d *DamagedError
		if !errors.As(err, &d) || d.Key != c.key || d.Reason != c.reason {
			t.Errorf("%s: %v, want %s %v", what, err, c.key, c.reason)
		}
	}
	// The last segment is treated as if it had not been written.
	l = loaded(t, o, without("segment/02/000"), maxValue)
	if l.Next() != nexts[2] {
		t.Errorf("next is %d, want %d", l.Next(), nexts[2])
	}
}

// A large claimed number of chunks allocates no memory for missing chunks.
func TestChunksThatAreNotThere(t *testing.T) {
	o := options(t)
	l := newStanding(t, o, maxValue)
	var entries []Entry
	for i := range uint32(2000) {
		h := header{kind: base, epoch: 2, print: l.fingerprint, chunk: 1<<32 - 2 - i, chunks: 1<<32 - 1}
		h.sum[0], h.sum[1] = byte(i), byte(i>>8) // each of a separate write
		entries = append(entries, Entry{[]byte(h.key()), h.append(nil)})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	loaded(t, o, entries, maxValue)
	runtime.ReadMemStats(&after)
	// An empty standing takes 1 MB; a list of chunks up to these would take 2000² of
	// them, 96 MB.
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 4<<20 {
		t.Errorf("%d bytes were allocated for 2000 entries", allocated)
	}
}
