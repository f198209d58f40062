package exchange

import (
	"cmp"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/matching"
)

// keptRecord is a record in the reference implementation below.
type keptRecord struct {
	swapRecord
	place core.RecordPlace
	combo int
	heads bool
}

func (r *keptRecord) before(q *keptRecord) int {
	return cmp.Or(cmp.Compare(r.order, q.order), r.place.Compare(q.place))
}

// scaled is ⌊word·n/2^64⌋.
func scaled(word uint64, n int) int {
	product := new(big.Int).Mul(new(big.Int).SetUint64(word), big.NewInt(int64(n)))
	return int(product.Rsh(product, 64).Int64())
}

// exchangesOf pairs the records of one group as the comment of datasetSwap describes, by walking
// through lists. It maps each value place to the record whose value it receives.
func exchangesOf(records []*keptRecord, counts []int) map[uint32]uint32 {
	slices.SortFunc(records, func(a, b *keptRecord) int { return a.before(b) })
	var ranked []int // combinations by their smallest record
	for _, r := range records {
		if !slices.Contains(ranked, r.combo) {
			ranked = append(ranked, r.combo)
		}
	}
	got, paired := map[uint32]uint32{}, map[*keptRecord]bool{}
	free := func(combo int, heads bool) (list []*keptRecord) {
		for _, r := range records {
			if r.combo == combo && r.heads == heads && !paired[r] {
				list = append(list, r)
			}
		}
		return list
	}
	left := map[int]int{} // records of each combination that are not heads and are in no pair
	for combo, n := range counts {
		left[combo] = n - len(free(combo, true))
	}
	partner := func(r *keptRecord, heads bool) *keptRecord {
		weight := func(combo int) int {
			some := free(combo, heads)
			if heads || len(some) == 0 {
				return len(some)
			}
			return left[combo]
		}
		var others []int
		for _, combo := range ranked {
			if combo != r.combo {
				for range weight(combo) {
					others = append(others, combo)
				}
			}
		}
		if len(others) == 0 {
			return nil
		}
		return free(others[scaled(r.partner, len(others))], heads)[0]
	}
	var alone []*keptRecord
	for _, r := range records {
		if !r.heads || paired[r] {
			continue
		}
		q := partner(r, true)
		if q == nil {
			alone = append(alone, r)
			continue
		}
		paired[r], paired[q] = true, true
		got[r.value], got[q.value] = q.value, r.value
	}
	for _, r := range alone {
		if q := partner(r, false); q != nil {
			paired[q] = true
			left[q.combo]--
			if r.coin%2 == 0 {
				got[r.value], got[q.value] = q.value, r.value
			}
		}
	}
	return got
}

// The decisions for random records equal those of the reference: for groups of one record or more,
// one combination up to more than the linear search examines, equal words, several streams in turn,
// combinations without heads, and heads without partners.
func TestPairingOfHeads(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 4))
	moved, unpaired := 0, 0
	for round := range 300 {
		combos, groups, n := 1+r.IntN(1+round%40), 1+r.IntN(3), r.IntN(120)
		words := uint64(math.MaxUint64)
		if round%3 == 0 {
			words = 9 // ties
		}
		share := []float64{0.1, 0.5, 1}[round%3]
		s := &datasetSwap{swapColumns: swapColumns{Policy: matching.Policy{Rate: 0.5}}, combos: make([]combo, combos),
			values: make([]swapColumn, 1)}
		counts := make([]int, combos)
		byGroup := make([][]*keptRecord, groups)
		skewed := r.IntN(2) == 0
		for i := range n {
			code := r.IntN(combos)
			if skewed {
				code = min(code, r.IntN(combos), r.IntN(combos))
			}
			k := &keptRecord{combo: code, heads: r.Float64() < share, place: core.RecordPlace{Stream: r.IntN(1 + round%3),
				Row: int64(i)}}
			k.swapRecord = swapRecord{order: r.Uint64N(words), partner: r.Uint64(), coin: r.Uint64(), row: int64(i),
				value: uint32(s.kept)}
			k.source = s.sources.numbered(core.RecordPlace{Stream: k.place.Stream})
			m := &s.combos[code]
			m.group = int32(code % groups)
			m.count++
			counts[code]++
			if !k.heads && len(m.records) == matching.Reserves {
				continue // the records in a sample do not matter here
			}
			s.kept++
			if k.heads {
				m.addHead(k.swapRecord)
			} else {
				m.records = append(m.records, k.swapRecord)
			}
			byGroup[m.group] = append(byGroup[m.group], k)
		}
		want := map[core.RecordPlace]uint32{}
		for _, records := range byGroup {
			places := map[uint32]core.RecordPlace{}
			for _, k := range records {
				places[k.value] = k.place
			}
			var of []int
			if len(records) > 0 {
				of = make([]int, combos)
				for code := range counts {
					if int(s.combos[code].group) == int(s.combos[records[0].combo].group) {
						of[code] = counts[code]
					}
				}
			}
			for value, from := range exchangesOf(records, of) {
				want[places[value]] = from
			}
		}
		for i := range s.combos {
			slices.SortFunc(s.combos[i].records, s.sources.compare)
		}
		if err := s.Decide(new(core.Chain)); err != nil {
			t.Fatal(err)
		}
		found := 0
		for source, list := range s.moves {
			for i, m := range list {
				if i > 0 && list[i-1].row >= m.row || int(m.source) != source {
					t.Fatalf("round %d: moves are not in the order of rows", round)
				}
				at := s.sources.list[source]
				at.Row = m.row
				if v, ok := want[at]; !ok || v != m.value {
					t.Fatalf("round %d: record %v receives %d, want %d (%v)", round, at, m.value, v, ok)
				}
				found++
			}
		}
		if found != len(want) {
			t.Fatalf("round %d: %d records receive something, want %d", round, found, len(want))
		}
		moved += found
		unpaired += n - found
	}
	if moved < 1000 || unpaired < 1000 {
		t.Errorf("%d records were exchanged and %d were not: too few of one kind for this test", moved, unpaired)
	}
}

// Heads keep their order of arrival, also across the ends of their lists.
func TestHeadsInLists(t *testing.T) {
	for _, n := range []int{0, 1, headsChunk - 1, headsChunk, headsChunk + 1, 3*headsChunk + 5} {
		var m combo
		for i := range n {
			m.addHead(swapRecord{row: int64(i)})
		}
		lists, count := m.allHeads()
		var rows []int64
		for _, list := range lists {
			for _, r := range list {
				rows = append(rows, r.row)
			}
		}
		if count != n || len(rows) != n {
			t.Fatalf("%d heads: %d are counted and %d listed", n, count, len(rows))
		}
		for i, row := range rows {
			if int(row) != i {
				t.Fatalf("%d heads: the %d-th is %d", n, i, row)
			}
		}
	}
}

// sortSeekers sorts correctly for any words.
func TestSortSeekers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	compare := func(a, b seeker) int { return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.value, b.value)) }
	for name, word := range map[string]func(i int) uint64{
		"even":       func(int) uint64 { return r.Uint64() },
		"equal":      func(int) uint64 { return math.MaxUint64 },
		"rows":       func(i int) uint64 { return uint64(999_999 - i) },
		"few values": func(int) uint64 { return r.Uint64N(3) << 62 },
		"two heaps":  func(i int) uint64 { return uint64(i%2)*math.MaxUint64 ^ r.Uint64N(1000) },
		"powers":     func(int) uint64 { return 1 << r.UintN(64) },
	} {
		for _, n := range []int{0, 1, 2, 64, 65, 1000, 2047, 2048, 9000} {
			list := make([]seeker, n)
			for i, value := range r.Perm(n) {
				list[i] = seeker{order: word(i), value: uint32(value)}
			}
			want := slices.Clone(list)
			slices.SortFunc(want, compare)
			if got := sortSeekers(list, compare); !slices.Equal(got, want) {
				t.Errorf("%s, %d seekers: not in order", name, n)
			}
		}
	}
}

// Merged lists are in order: into an empty list, at its ends and in between.
func TestMergedMoves(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for range 200 {
		var list, between, all []move
		for row := range int64(r.IntN(30)) {
			switch m := (move{row: row}); r.IntN(3) {
			case 0:
				list, all = append(list, m), append(all, m)
			case 1:
				between, all = append(between, m), append(all, m)
			}
		}
		if got := merged(slices.Clone(list), between); !slices.Equal(got, all) {
			t.Fatalf("%v and %v: %v", list, between, got)
		}
	}
}
