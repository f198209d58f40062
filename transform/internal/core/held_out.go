package core

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// HeldOut describes which records the models of a column's mask were not fitted to: they were
// set aside before, and their released values are drawn from models of the other records. How
// well their values can be guessed shows what the release discloses of anybody; how much better
// those of the other records can be guessed shows what it discloses of the records that it was
// made from (Giomi, Boenisch, Wehmeyer & Tasnádi 2023).
type HeldOut struct {
	Column     string
	Categories bool    // its values are categories, as numbers or texts
	Share      float64 // expected share of the records that are set aside
	Draw       *heldDraw
}

// Of reports whether the record at this place of a stream was set aside.
func (h *HeldOut) Of(scope string, stream int, place int64) bool {
	var u [1]float64
	h.Draw.Uniforms(u[:], scope, keystream.Records{Stream: stream, First: place})
	return u[0] < h.Share
}

// HeldOut returns the columns whose masks fit models to a part of the records only, in the order
// of the masks.
func (c *Chain) HeldOut() (list []HeldOut) {
	draw := NewHeldDraw(c.Setup.Key)
	for _, m := range c.Masks {
		d := Declared(m.Params)
		if d.HeldOut == 0 {
			continue
		}
		for _, name := range m.Params.Masks() {
			list = append(list, HeldOut{name, slices.Contains(d.Texts, name), d.HeldOut, draw})
		}
	}
	return list
}

// heldDraw draws which records are set aside. The draws depend on the key and the record's place
// alone, so that masks, copies and replicates set the same records aside, and those of a smaller
// share are among those of a greater one. The draws are not released.
type heldDraw struct {
	key     keystream.Key
	streams map[string]*keystream.Stream // by scope
}

// NewHeldDraw returns the draws of a key that decide which records are set aside.
func NewHeldDraw(key keystream.Key) *heldDraw {
	return &heldDraw{key, map[string]*keystream.Stream{}}
}

// Uniforms writes draws on (0, 1) for records of a scope.
func (d *heldDraw) Uniforms(dst []float64, scope string, r keystream.Records) {
	s := d.streams[scope]
	if s == nil {
		s = d.key.Stream("transform/held out", scope, 0)
		d.streams[scope] = s
	}
	s.Uniforms(dst, r)
}
