package exchange

import (
	"cmp"
	"math"
	"slices"
)

// nothing is the value in a move for a record that receives no value.
const nothing = math.MaxUint32

// expect makes room for the values that records whose coin falls heads receive.
func (s *datasetSwap) expect() {
	if s.Unique {
		return
	}
	s.received = make([]move, s.kept)
	for i := range s.received {
		s.received[i].value = nothing
	}
}

// arrange sorts the moves in received and in others by source and row.
func (s *datasetSwap) arrange(others [][]move) {
	sources := len(s.sources.list)
	sizes, further := make([]int, sources), make([][]move, sources)
	for _, list := range others {
		for _, m := range list {
			further[m.source] = append(further[m.source], m)
		}
	}
	for _, m := range s.received {
		if m.value != nothing {
			sizes[m.source]++
		}
	}
	s.moves = make([][]move, sources)
	for i, n := range sizes {
		if sources == 1 {
			s.moves[i] = s.received[:0] // each element is read before it is overwritten
		} else {
			s.moves[i] = make([]move, 0, n+len(further[i]))
		}
	}
	for _, m := range s.received {
		if m.value != nothing {
			s.moves[m.source] = append(s.moves[m.source], m)
		}
	}
	s.received = nil
	for i, list := range s.moves {
		s.moves[i] = merged(inRows(list), inRows(further[i]))
	}
}

// inRows returns the moves of one source sorted by row; often they are in this order already.
func inRows(list []move) []move {
	byRow := func(a, b move) int { return cmp.Compare(a.row, b.row) }
	if slices.IsSortedFunc(list, byRow) {
		return list
	}
	return sortSpread(list, func(m move) uint64 { return uint64(m.row) }, byRow)
}

// merged merges two lists of moves that are sorted by row, into the first one if it has room.
func merged(list, between []move) []move {
	if len(list) == 0 {
		return between
	}
	i, j := len(list)-1, len(between)-1
	list = append(list, between...)
	for at := len(list) - 1; j >= 0; at-- {
		if i >= 0 && list[i].row > between[j].row {
			list[at] = list[i]
			i--
		} else {
			list[at] = between[j]
			j--
		}
	}
	return list
}
