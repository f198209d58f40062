package wire

import (
	"bytes"
	"math"
	"slices"
	"testing"
)

// Values are read back as they were written, and no bytes remain.
func TestRoundTrip(t *testing.T) {
	var e Encoder
	e.Uint(1<<63 + 5)
	e.Int(-7)
	e.Short(300)
	for _, v := range []int64{0, -1, 1, math.MinInt64, math.MaxInt64} {
		e.Signed(v)
	}
	e.Text("südlich")
	e.Floats(math.Inf(-1), math.Copysign(0, -1), 0.1)
	e.Words([]uint32{7, math.MaxUint32})
	d := Decoder{Rest: e}
	if a, b, c := d.Uint(), d.Int(), d.Short(); a != 1<<63+5 || b != -7 || c != 300 {
		t.Errorf("got %d, %d, %d", a, b, c)
	}
	for _, v := range []int64{0, -1, 1, math.MinInt64, math.MaxInt64} {
		if got := d.Signed(); got != v {
			t.Errorf("signed %d, got %d", v, got)
		}
	}
	if got := d.Text(); got != "südlich" {
		t.Errorf("text %q", got)
	}
	for _, v := range []float64{math.Inf(-1), math.Copysign(0, -1), 0.1} {
		if got := d.Float(); math.Float64bits(got) != math.Float64bits(v) {
			t.Errorf("float %v, got %v", v, got)
		}
	}
	if got := d.Words(2); !slices.Equal(got, []uint32{7, math.MaxUint32}) {
		t.Errorf("words %v", got)
	}
	if d.Failed || len(d.Rest) != 0 {
		t.Errorf("failed %v, %d bytes left", d.Failed, len(d.Rest))
	}
}

// The sizes are part of the format.
func TestSizes(t *testing.T) {
	for what, c := range map[string]struct {
		write func(e *Encoder)
		bytes int
	}{
		"uint":   {func(e *Encoder) { e.Uint(1) }, 8},
		"int":    {func(e *Encoder) { e.Int(-1) }, 8},
		"short":  {func(e *Encoder) { e.Short(127) }, 1},
		"short2": {func(e *Encoder) { e.Short(128) }, 2},
		"signed": {func(e *Encoder) { e.Signed(-64) }, 1},
		"text":   {func(e *Encoder) { e.Text("abc") }, 11},
		"floats": {func(e *Encoder) { e.Floats(1, 2) }, 16},
		"words":  {func(e *Encoder) { e.Words([]uint32{1, 2, 3}) }, 12},
	} {
		var e Encoder
		if c.write(&e); len(e) != c.bytes {
			t.Errorf("%s: %d bytes, want %d", what, len(e), c.bytes)
		}
	}
}

// After an error every value is zero, and no more memory is allocated than the remaining bytes can
// fill.
func TestFailures(t *testing.T) {
	for what, c := range map[string]struct {
		data []byte
		read func(d *Decoder) bool
	}{
		"uint cut short":  {make([]byte, 7), func(d *Decoder) bool { return d.Uint() == 0 }},
		"bytes below 0":   {make([]byte, 7), func(d *Decoder) bool { return d.Bytes(-1) == nil }},
		"empty varint":    {nil, func(d *Decoder) bool { return d.Short() == 0 }},
		"long varint":     {[]byte{0x81, 0x00}, func(d *Decoder) bool { return d.Short() == 0 }},
		"endless varint":  {bytes.Repeat([]byte{0xff}, 12), func(d *Decoder) bool { return d.Short() == 0 }},
		"a count too big": {[]byte{3, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5}, func(d *Decoder) bool { return d.Count(2) == 0 }},
		"a long text":     {[]byte{2, 0, 0, 0, 0, 0, 0, 0, 'x'}, func(d *Decoder) bool { return d.Text() == "" }},
		"words cut short": {make([]byte, 7), func(d *Decoder) bool { return len(d.Words(2)) == 0 }},
	} {
		d := Decoder{Rest: c.data}
		if zero := c.read(&d); !zero || !d.Failed || d.Uint() != 0 || d.Short() != 0 || len(d.Rest) != 0 {
			t.Errorf("%s: zero %v, failed %v, %d bytes left", what, zero, d.Failed, len(d.Rest))
		}
	}
	d := Decoder{Rest: []byte{2, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4}}
	if n := d.Count(2); n != 2 || d.Failed {
		t.Errorf("a count that just fits: %d", n)
	}
}
