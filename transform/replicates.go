package transform

import "github.com/sdlfilter/sdlfilter/transform/keystream"

// Replicates returns replicate m ≥ 1 of each of several chains of one key. The draws of a
// replicate depend on a mask's label and its column, not on its parameters, so
// that the points of a grid of parameters have them in common; here each is made
// once and kept for the other chains. The chains must be used by one goroutine at
// a time, on records identified by their place, and best one after another on the
// same blocks.
func Replicates(chains []*Chain, m int) []*Chain {
	shared := &sharedDraws{streams: map[streamName]*keystream.Stream{}, draws: map[drawKey][]float64{}}
	replicates := make([]*Chain, len(chains))
	for i, c := range chains {
		replicates[i] = c.replicateWith(m, shared)
	}
	return replicates
}

// sharedDraws keeps the draws of one replicate.
type sharedDraws struct {
	streams map[streamName]*keystream.Stream
	draws   map[drawKey][]float64
}

type streamName struct{ label, column string }

// drawKey names the draws of one kind for consecutive records.
type drawKey struct {
	stream *keystream.Stream
	kind   draw
	of     int // the records' stream
	first  int64
	n      int
}

func (d *sharedDraws) stream(key keystream.Key, label, column string, replicate int) *keystream.Stream {
	name := streamName{label, column}
	s := d.streams[name]
	if s == nil {
		s = key.Stream(label, column, replicate)
		d.streams[name] = s
	}
	return s
}

// fill writes standard draws of a distribution, uniform ones on (0, 1), for the
// records that r names: from what is shared, where anything is.
func (w *work) fill(dst []float64, kind draw, stream int, r keystream.Records) {
	s := w.streams[stream]
	if w.shared == nil || r.Digests != nil || r.Places != nil {
		kind.fill(dst, s, r)
		return
	}
	key := drawKey{s, kind, r.Stream, r.First, len(dst)}
	made := w.shared.draws[key]
	if made == nil {
		made = make([]float64, len(dst))
		kind.fill(made, s, r)
		w.shared.draws[key] = made
	}
	copy(dst, made)
}

func (d draw) fill(dst []float64, s *keystream.Stream, r keystream.Records) {
	switch d {
	case normal:
		s.Normals(dst, r)
	case laplace:
		s.Laplaces(dst, r)
	case uniform:
		s.Uniforms(dst, r)
	}
}
