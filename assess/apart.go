package assess

import (
	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/assess/internal/sample"
	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
)

// SamplePiece is a part of an encoded sample: records whose priorities follow those of the piece before.
type SamplePiece struct {
	Lowest uint32 // the least priority of its records
	Data   []byte
}

// mostOfPiece is the number of records of a piece.
const mostOfPiece = 1024

// MarshalApart encodes the accumulator as MarshalBinary does, with its sample by itself, in pieces. A merge of many
// accumulators keeps few records of each sample, those of the lowest priorities, and reads the pieces that hold them.
func (a *Accumulator) MarshalApart() (exact []byte, pieces []SamplePiece) {
	a.sample.Settle()
	var e wire.Encoder
	a.encode(&e, func(from *place.Numbering) {
		of := a.sample.ByPriority()
		for first := 0; first < of.Len(); first += mostOfPiece {
			part := of.Between(first, min(first+mostOfPiece, of.Len()))
			var data wire.Encoder
			part.Encode(&data, from)
			pieces = append(pieces, SamplePiece{part.Priority[0], data})
		}
	})
	return e, pieces
}

// UnmarshalExact replaces the content of a by that of MarshalApart, as UnmarshalBinary does, without the sample.
func (a *Accumulator) UnmarshalExact(exact []byte) error {
	var origins []*place.Origin
	err := a.decode(exact, func(_ *sample.Sample, _ *wire.Decoder, from []*place.Origin) { origins = from })
	if err == nil {
		a.apart = origins
	}
	return err
}

// AddPiece adds a piece of the sample after UnmarshalExact. With the pieces up to the first whose Lowest is above the
// Limit of another accumulator, a can be merged into that one, and is good for nothing else.
func (a *Accumulator) AddPiece(data []byte) error {
	part := sample.New(-1, a.layout.Width())
	d := wire.Decoder{Rest: data}
	part.Decode(&d, a.apart)
	if d.Failed || len(d.Rest) != 0 {
		return errEncoding
	}
	a.sample.Merge(&part)
	if !a.plausible() {
		return errEncoding
	}
	return nil
}

// Limit is the priority above which no record can enter the sample any more.
func (a *Accumulator) Limit() uint32 { return a.sample.Limit }
