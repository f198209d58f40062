package registry

import (
	"bytes"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/sr"
)

func TestFrame(t *testing.T) {
	var theirs sr.ConfluentHeader
	for _, indexes := range [][]int{nil, {0}, {1}, {0, 0}, {2, 0, 300}} {
		want, err := theirs.AppendEncode(nil, 70000, indexes)
		if err != nil {
			t.Fatal(err)
		}
		got := AppendHeader(nil, 70000)
		if indexes != nil {
			got = AppendIndexes(got, indexes)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%v: %x, want %x", indexes, got, want)
		}
		id, rest, ok := Header(append(got, "message"...))
		if !ok || id != 70000 {
			t.Fatalf("%v: %d, %v", indexes, id, ok)
		}
		if indexes != nil {
			var back []int
			if back, rest, ok = Indexes(rest, nil, 4); !ok || !slices.Equal(back, indexes) {
				t.Errorf("%v became %v, %v", indexes, back, ok)
			}
		}
		if string(rest) != "message" {
			t.Errorf("%v: %q follows", indexes, rest)
		}
	}
	for _, bad := range []string{"", "\x00\x00\x00\x00", "\x01\x00\x00\x00\x01", "{\"a\":1}"} {
		if _, _, ok := Header([]byte(bad)); ok {
			t.Errorf("%q has a header", bad)
		}
	}
}

func FuzzIndexes(f *testing.F) {
	f.Add([]byte{0})
	f.Add(AppendIndexes(nil, []int{1, 2, 3}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		indexes, rest, ok := Indexes(b, nil, 8)
		if !ok {
			return
		}
		if len(indexes) == 0 || len(indexes) > 8 || len(rest) >= len(b) || slices.Min(indexes) < 0 {
			t.Errorf("%v, %d bytes left of %d", indexes, len(rest), len(b))
		}
		again, _, ok := Indexes(AppendIndexes(nil, indexes), nil, 8)
		if !ok || !slices.Equal(again, indexes) {
			t.Errorf("%v became %v", indexes, again)
		}
	})
}
