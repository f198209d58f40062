package standing

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
)

// pack writes entries as bytes that a fuzzer can change: lengths of key and value,
// then both.
func pack(entries []Entry) (data []byte) {
	for _, e := range entries {
		data = binary.BigEndian.AppendUint16(data, uint16(len(e.Key)))
		data = binary.BigEndian.AppendUint16(data, uint16(len(e.Value)))
		data = append(append(data, e.Key...), e.Value...)
	}
	return data
}

func unpack(data []byte) (entries []Entry) {
	for len(data) >= 4 {
		k, v := int(binary.BigEndian.Uint16(data)), int(binary.BigEndian.Uint16(data[2:]))
		data = data[4:]
		k = min(k, len(data))
		v = min(v, len(data)-k)
		entries = append(entries, Entry{data[:k], data[k : k+v]})
		data = data[k+v:]
	}
	return entries
}

// sign gives values of one chunk their correct checksum and fingerprint, so that the code after
// these checks is tested.
func sign(l *Standing, entries []Entry) {
	for i, e := range entries {
		var h header
		if len(e.Value) < headerSize {
			continue
		}
		value := bytes.Clone(e.Value)
		copy(value[fixedSize:], l.fingerprint[:])
		rest, err := h.parse(value)
		if err != nil || h.chunks != 1 {
			continue
		}
		h.sum = h.checksum(rest)
		entries[i].Value = append(h.append(nil), rest...)
	}
}

// For any content of the topic, Load returns a usable standing or an error that names a key.
func FuzzLoad(f *testing.F) {
	o := options(f)
	o.Sample, o.Extremes = 6, 2
	r := makeRows(rand.New(rand.NewPCG(9, 9)), 0, 200)
	for _, limit := range []int{maxValue, headerSize + 300} {
		log, _, _ := history(f, o, r, limit, 20, 2, 1, 30, 1, 1)
		f.Add(pack(log.log), false)
		f.Add(pack(log.log[:1]), true)
		f.Add(pack(log.log[1:]), true)
		f.Add(pack(log.log), true)
	}
	f.Add([]byte("\x00\x01\x00\x05xsdlL\x00"), false)
	signer := newStanding(f, o, maxValue)
	more := r.block(150, 180)
	more.First, more.Places = 1<<61, nil
	f.Fuzz(func(t *testing.T, data []byte, signed bool) {
		entries := unpack(data)
		if signed {
			sign(signer, entries)
		}
		l, err := Load(o, "name", sequence(entries))
		var d *DamagedError
		if err != nil && !errors.As(err, &d) {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		before, _ := l.Counts()
		if l.Next() >= more.First || before.Read >= maxCount/2 || l.written.epoch >= maxCount/2 {
			return // near the largest representable numbers
		}
		added := l.Add(more)
		_, delta := l.Counts()
		if added != more.N || delta.Read != int64(added) || l.Stale() && before != (Counts{}) {
			t.Fatalf("%d records were added, counts %+v and %+v, stale %v", added, before, delta, l.Stale())
		}
		m, err := assess.Merged(o, l.Whole(), l.Delta())
		must(t, err)
		if _, err := m.MeasureQuick(context.Background()); err != nil {
			t.Fatal(err)
		}
		next := more.First + int64(more.N)
		written, err := l.Entries(next)
		must(t, err)
		l.Commit()
		again, err := Load(o, "name", sequence(append(entries, written...)))
		if err != nil {
			t.Fatalf("a resumed state cannot be resumed again: %v", err)
		}
		if whole, _ := again.Counts(); whole != before.Plus(delta) || again.Next() != next {
			t.Fatalf("taken up again: %+v and next %d, want %+v and %d", whole, again.Next(), before.Plus(delta), next)
		}
	})
}
