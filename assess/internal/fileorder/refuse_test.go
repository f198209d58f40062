package fileorder

import (
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
)

// encoding is an encoding of levels written by hand; each of its parts may be wrong.
type encoding struct {
	limit, levels, thin, stretches uint64
	number, index, bins            uint64
	again                          bool // the stretch occurs twice
	records                        uint64
	x, y, square                   float64
}

func (c encoding) bytes() wire.Encoder {
	var e wire.Encoder
	e.Uint(c.limit)
	e.Uint(c.levels)
	for range min(c.levels, 20) {
		e.Uint(c.thin)
		e.Uint(c.stretches)
		for k := range c.stretches {
			if c.again {
				k = 0
			}
			e.Short(c.number)
			e.Short(c.index + k)
			e.Short(c.bins)
			for k := range min(c.bins, 300) {
				records := c.records
				if k > 0 {
					records = 0
				}
				e.Short(records)
				switch {
				case records == 1:
					e.Floats(c.x, c.y)
				case records > 1:
					e.Floats(c.x, c.y, c.square)
				}
			}
		}
	}
	return e
}

// Each part of the encoding of levels is refused if it is impossible, and accepted at its last
// allowed value.
func TestDecodingLevelsRefuses(t *testing.T) {
	whole := encoding{limit: 64, levels: 2, stretches: 3, bins: 4, records: 5, x: 1, y: 2, square: 3}
	decode := func(data []byte) bool {
		o := New(64)
		d := wire.Decoder{Rest: data}
		o.Decode(&d, []*place.Origin{{Stream: 1}, {Stream: 2}})
		return !d.Failed && len(d.Rest) == 0
	}
	data := whole.bytes()
	if !decode(data) {
		t.Fatal("a valid encoding is refused")
	}
	for cut := range len(data) {
		if decode(data[:cut:cut]) {
			t.Errorf("cut at %d of %d: accepted", cut, len(data))
		}
	}
	for name, c := range map[string]struct {
		change func(c *encoding)
		ok     bool
	}{
		"another limit":             {func(c *encoding) { c.limit = 65 }, false},
		"no level":                  {func(c *encoding) { c.levels = 0 }, false},
		"all levels":                {func(c *encoding) { c.levels = orderLevels }, true},
		"a level too many":          {func(c *encoding) { c.levels = orderLevels + 1 }, false},
		"more levels than bytes":    {func(c *encoding) { c.levels = 1 << 60 }, false},
		"thinned to nothing":        {func(c *encoding) { c.thin, c.stretches = 64, 0 }, true},
		"thinned to less":           {func(c *encoding) { c.thin, c.stretches = 65, 0 }, false},
		"not kept when thinned":     {func(c *encoding) { c.thin, c.stretches = 64, 1 }, false},
		"the last origin":           {func(c *encoding) { c.number = 1 }, true},
		"an origin too far":         {func(c *encoding) { c.number = 2 }, false},
		"the last place":            {func(c *encoding) { c.index = 1<<55 - 3 }, true},
		"a place too far":           {func(c *encoding) { c.index = 1<<55 - 2 }, false},
		"no bin":                    {func(c *encoding) { c.bins = 0 }, false},
		"as many as a stretch has":  {func(c *encoding) { c.bins = stretchLength }, true},
		"a bin too many":            {func(c *encoding) { c.bins = stretchLength + 1 }, false},
		"a stretch twice":           {func(c *encoding) { c.again = true }, false},
		"one record":                {func(c *encoding) { c.records = 1 }, true},
		"no record":                 {func(c *encoding) { c.records = 0 }, true},
		"as many as a float counts": {func(c *encoding) { c.records = 1 << 53 }, true},
		"more than a float counts":  {func(c *encoding) { c.records = 1<<53 + 1 }, false},
		"an infinite mean":          {func(c *encoding) { c.x = math.Inf(1) }, false},
		"a mean that is no number":  {func(c *encoding) { c.y = math.NaN() }, false},
		"a square below 0":          {func(c *encoding) { c.square = -1 }, false},
		"a square of 0":             {func(c *encoding) { c.square = 0 }, true},
		"a square that is none":     {func(c *encoding) { c.square = math.NaN() }, false},
	} {
		e := whole
		if c.change(&e); decode(e.bytes()) != c.ok {
			t.Errorf("%s: accepted is %v", name, !c.ok)
		}
	}
	// A level has at most as many non-empty bins as the limit.
	for bins, ok := range map[int]bool{64: true, 65: false} {
		var e wire.Encoder
		e.Uint(64)
		e.Uint(1)
		e.Uint(0)
		e.Uint(1)
		for _, v := range []uint64{0, 0, uint64(bins)} {
			e.Short(v)
		}
		for range bins {
			e.Short(1)
			e.Floats(1, 2)
		}
		if decode(e) != ok {
			t.Errorf("%d bins of at most 64: accepted is %v", bins, !ok)
		}
	}
}
