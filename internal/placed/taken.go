package placed

import (
	"bytes"
	"errors"
	"maps"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// Places are the places of records that have been read, by stream. Consecutive places take
// almost no memory, others about two bytes each.
type Places struct {
	streams map[int]*roaring64.Bitmap
}

// ErrTwice says that two records have one place.
var ErrTwice = errors.New("two records have the same place, and would share their noise")

// add takes in ascending places of a stream, each of which must be new.
func (t *Places) add(stream int, places []int64) error {
	more := roaring64.New()
	first, last := uint64(places[0]), uint64(places[len(places)-1])
	if last-first == uint64(len(places))-1 {
		more.AddRange(first, last+1)
	} else {
		unsigned := make([]uint64, len(places))
		for i, p := range places {
			unsigned[i] = uint64(p)
		}
		more.AddMany(unsigned)
	}
	return t.join(stream, more)
}

func (t *Places) join(stream int, more *roaring64.Bitmap) error {
	known := t.streams[stream]
	switch {
	case known == nil:
		if t.streams == nil {
			t.streams = map[int]*roaring64.Bitmap{}
		}
		t.streams[stream] = more
		return nil
	case known.Intersects(more):
		return ErrTwice
	}
	known.Or(more)
	return nil
}

// Marshal encodes the places by stream, in as little room as they need.
func (t *Places) Marshal() (map[int][]byte, error) {
	out := map[int][]byte{}
	for stream, places := range t.streams {
		places.RunOptimize()
		text, err := places.ToBytes()
		if err != nil {
			return nil, err
		}
		out[stream] = text
	}
	return out, nil
}

// Join takes in what another process has read: each place must be new.
func (t *Places) Join(encoded map[int][]byte) error {
	for _, stream := range slices.Sorted(maps.Keys(encoded)) {
		more := roaring64.New()
		if _, err := more.ReadFrom(bytes.NewReader(encoded[stream])); err != nil {
			return errors.New("the places are damaged")
		}
		if err := t.join(stream, more); err != nil {
			return err
		}
	}
	return nil
}
