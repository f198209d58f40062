package exchange

import (
	"errors"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/arraytest"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/matching"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
)

// attackedSurvey returns the survey of records [20, 60) by a swap of every value, after a
// manipulation.
func attackedSurvey(t *testing.T, setup core.Setup, swap core.Spec, columns []testColumn, change func(s *datasetSwap)) []byte {
	t.Helper()
	c := chain(t, setup, swap)
	if err := c.Survey(block(20, 60, columns...)); err != nil {
		t.Fatal(err)
	}
	change(c.InParts()[0].(*datasetSwap))
	found, err := c.MarshalSurvey()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A survey with impossible data about a shard is refused before any decision: other shards'
// records, a record twice, too many records, other keys, other coins, or values in another form.
func TestSurveysThatSayWhatCannotBe(t *testing.T) {
	columns := swapData(60, 3, 2, 3)
	setup := testSetup(t, columns...)
	some := func(s *datasetSwap, as func(m *combo) bool) *combo {
		for i := range s.combos {
			if as(&s.combos[i]) {
				return &s.combos[i]
			}
		}
		t.Fatal("there is no such combination, so this tests nothing")
		return nil
	}
	any := func(s *datasetSwap) *combo { return some(s, func(m *combo) bool { return len(m.heads) > 1 }) }
	sampled := func(s *datasetSwap) *combo { return some(s, func(m *combo) bool { return len(m.records) > 0 }) }
	all, half, unique := mask(swapMask("random", "dataset", 1)), mask(swapMask("random", "dataset", 0.5)),
		mask(swapMask("unique", "dataset", 0.9))
	for name, c := range map[string]struct {
		swap   core.Spec
		change func(s *datasetSwap)
		want   error
	}{
		"nothing":           {swap: all, change: func(*datasetSwap) {}},
		"nothing of unique": {swap: unique, change: func(*datasetSwap) {}},
		"a record before": {swap: all, change: func(s *datasetSwap) {
			any(s).heads[0].row = 19
		}, want: decision.ErrOtherRecords},
		"a record behind": {swap: all, change: func(s *datasetSwap) {
			any(s).heads[0].row = 60
		}, want: decision.ErrOtherRecords},
		"a record below 0": {swap: all, change: func(s *datasetSwap) {
			any(s).heads[0].row = -5
		}, want: decision.ErrOtherRecords},
		"a sampled record behind": {swap: half, change: func(s *datasetSwap) {
			sampled(s).records[0].row = 60
		}, want: decision.ErrOtherRecords},
		"another file": {swap: all, change: func(s *datasetSwap) {
			s.sources.list[0].Stream = 7
		}, want: decision.ErrOtherRecords},
		"a scope": {swap: all, change: func(s *datasetSwap) {
			s.sources.list[0].Scope = "canary"
		}, want: decision.ErrOtherRecords},
		"a record twice": {swap: all, change: func(s *datasetSwap) {
			m := any(s)
			m.heads[1] = m.heads[0]
		}, want: core.ErrRecordTwice},
		"a record in two places": {swap: half, change: func(s *datasetSwap) {
			r := any(s).heads[0]
			sampled(s).records[0].row = r.row
		}, want: core.ErrRecordTwice},
		"more than are kept":  {swap: all, change: func(s *datasetSwap) { any(s).count++ }, want: decision.ErrDamaged},
		"fewer than are kept": {swap: all, change: func(s *datasetSwap) { any(s).count = 1 }, want: decision.ErrDamaged},
		"more than there are": {swap: unique, change: func(s *datasetSwap) {
			some(s, func(m *combo) bool { return m.count >= matching.Reserves }).count = 41
		}, want: decision.ErrOtherRecords},
		"2^63 records": {swap: unique, change: func(s *datasetSwap) {
			s.combos[0].count = -1 << 63
		}, want: decision.ErrOtherRecords},
		"other keys": {swap: all, change: func(s *datasetSwap) {
			m := any(s)
			m.group = (m.group + 1) % 2
		}, want: decision.ErrDamaged},
		"no keys": {swap: all, change: func(s *datasetSwap) {
			any(s).group = 1 << 30
		}, want: decision.ErrDamaged},
		"tails": {swap: half, change: func(s *datasetSwap) {
			any(s).heads[0].coin = ^uint64(0)
		}, want: decision.ErrDamaged},
		"heads": {swap: half, change: func(s *datasetSwap) {
			sampled(s).records[0].coin = 0
		}, want: decision.ErrDamaged},
		"heads of unique": {swap: unique, change: func(s *datasetSwap) {
			m := some(s, func(m *combo) bool { return m.count > matching.Reserves })
			m.heads, m.records = m.records[:1], m.records[1:]
		}, want: decision.ErrDamaged},
		"five of a sample": {swap: unique, change: func(s *datasetSwap) {
			m := some(s, func(m *combo) bool { return m.count > matching.Reserves })
			m.records = append(m.records, m.records[0])
			m.records[matching.Reserves].row = slices.Max([]int64{m.records[0].row, m.records[1].row}) - 1
		}, want: decision.ErrDamaged},
	} {
		whole := chain(t, setup, c.swap)
		err := whole.MergeSurvey(attackedSurvey(t, setup, c.swap, columns, c.change), []core.Stretch{{Stream: 1, First: 0, N: 7},
			{Stream: 0, First: 20, N: 40}})
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// Decisions are refused if another shard's record receives a value or a record receives two. Values
// in another form never reach a record.
func TestDecisionsThatCannotBe(t *testing.T) {
	columns := swapData(60, 3, 2, 3)
	setup := testSetup(t, columns...)
	swap := mask(swapMask("random", "dataset", 1))
	of := []core.Stretch{{Stream: 0, First: 20, N: 40}}
	for name, c := range map[string]struct {
		change func(s *datasetSwap)
		stream core.Stretch // the question
		want   error
		late   bool // when they are applied
	}{
		"nothing": {change: func(*datasetSwap) {}},
		"a record behind": {change: func(s *datasetSwap) {
			s.moves[0][len(s.moves[0])-1].row = 60
		}, stream: core.Stretch{Stream: 0, First: 0, N: 99}, want: decision.ErrOtherRecords},
		"a record before": {change: func(s *datasetSwap) {
			s.moves[0][0].row = 3
		}, stream: core.Stretch{Stream: 0, First: 0, N: 99}, want: decision.ErrOtherRecords},
		"a record twice": {change: func(s *datasetSwap) {
			s.moves[0][1].row = s.moves[0][0].row
		}, want: core.ErrRecordTwice},
		"not in order": {change: func(s *datasetSwap) {
			s.moves[0][2].row = s.moves[0][0].row
		}, want: decision.ErrDamaged},
		"the last one not in order": {change: func(s *datasetSwap) {
			s.moves[0][len(s.moves[0])-1].row = s.moves[0][0].row
		}, want: decision.ErrDamaged},
		"a scope": {change: func(s *datasetSwap) {
			s.sources.list[0].Scope = "canary"
		}, want: decision.ErrOtherRecords},
		"a source twice": {change: func(s *datasetSwap) {
			s.sources.list, s.moves = append(s.sources.list, s.sources.list[0]), append(s.moves, s.moves[0])
		}, want: decision.ErrDamaged},
		"texts for numbers": {change: func(s *datasetSwap) {
			k := &s.values[0]
			k.starts, k.lengths = make([]uint64, len(k.nulls)), make([]uint32, len(k.nulls))
		}, want: decision.ErrDamaged, late: true},
	} {
		whole := chain(t, setup, swap)
		if err := whole.MergeSurvey(attackedSurvey(t, setup, swap, columns, func(*datasetSwap) {}), of); err != nil {
			t.Fatal(err)
		}
		if err := whole.EndSurvey(); err != nil {
			t.Fatal(err)
		}
		s := whole.InParts()[0].(*datasetSwap)
		if len(s.moves[0]) < 5 {
			t.Fatal("nothing is exchanged, so this tests nothing")
		}
		c.change(s)
		stretches := of
		if c.stream.N > 0 {
			stretches = []core.Stretch{c.stream}
		}
		decided, err := whole.MarshalDecisions(stretches)
		if err != nil {
			t.Fatal(err)
		}
		receiver := chain(t, setup, swap)
		err = receiver.UseDecisions(decided, of)
		if c.late && err == nil {
			b := block(20, 60, columns...)
			before := slices.Clone(b.Columns[0].Original.Values)
			if err = receiver.Apply(b); !slices.Equal(b.Columns[0].Original.Values, before) {
				t.Errorf("%s: the originals have changed", name)
			}
		}
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		for n := range decided { // truncated anywhere
			if err := chain(t, setup, swap).UseDecisions(decided[:n], of); err == nil {
				t.Errorf("%s: the first %d of %d bytes are taken", name, n, len(decided))
			}
		}
	}
}

// The data that a survey keeps of a combination must fit its size, and probabilities must be
// between 0 and 1. Kept texts count with the memory of their letters.
func TestWhatIsPlausible(t *testing.T) {
	for _, c := range []struct {
		unique                bool
		count, heads, records uint64
		want                  bool
	}{
		{false, 9, 3, 4, true}, {false, 9, 6, 3, true}, {false, 9, 9, 0, true}, {true, 9, 0, 4, true}, {true, 2, 0, 2, true},
		{false, 9, 10, 4, false}, {false, 9, 3, 3, false}, {false, 9, 6, 4, false}, {true, 9, 1, 4, false},
		{true, 9, 9, 0, false}, {true, 2, 0, 3, false},
	} {
		s := newDatasetSwap(swapColumns{Policy: matching.Policy{Unique: c.unique}})
		if got := s.plausible(c.count, c.heads, c.records); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	s := newDatasetSwap(swapColumns{})
	s.kept, s.values = 10, []swapColumn{{}, {starts: make([]uint64, 10), bytes: make([]byte, 70)}}
	if got, want := s.Holds(0), int64(bytesOfPasses+10*(bytesKept+bytesKeptNumber+bytesKeptText)+140); got != want {
		t.Errorf("%d bytes are needed, want %d", got, want)
	}
}

// Values for an array must have the width of its type. Numbers and values of another width are
// refused, not truncated or padded.
func TestValuesOfAnotherForm(t *testing.T) {
	letters, whole := array.NewStringBuilder(memory.DefaultAllocator), array.NewInt32Builder(memory.DefaultAllocator)
	letters.AppendValues([]string{"a", "b", "c"}, nil)
	whole.AppendValues([]int32{1, 2, 3}, nil)
	texts, integers := letters.NewArray(), whole.NewArray()
	truths := arraytest.FromJSON(t, arrow.FixedWidthTypes.Boolean, `[true, false, true]`)
	for name, c := range map[string]struct {
		col   microdata.Column
		value swapColumn
		want  error
	}{
		"a text": {microdata.Column{Array: texts},
			swapColumn{starts: []uint64{0}, lengths: []uint32{3}, nulls: []bool{false}, bytes: []byte("abc")}, nil},
		"a number for a text": {microdata.Column{Array: texts}, swapColumn{numbers: []float64{1}, nulls: []bool{false}},
			decision.ErrDamaged},
		"4 bytes": {microdata.Column{Array: integers},
			swapColumn{starts: []uint64{0}, lengths: []uint32{4}, nulls: []bool{false}, bytes: make([]byte, 4)}, nil},
		"a null": {microdata.Column{Array: integers},
			swapColumn{starts: []uint64{0}, lengths: []uint32{0}, nulls: []bool{true}}, nil},
		"3 bytes": {microdata.Column{Array: integers},
			swapColumn{starts: []uint64{0}, lengths: []uint32{3}, nulls: []bool{false}, bytes: make([]byte, 3)},
			decision.ErrDamaged},
		"a truth": {microdata.Column{Array: truths},
			swapColumn{starts: []uint64{0}, lengths: []uint32{1}, nulls: []bool{false}, bytes: make([]byte, 1)}, nil},
		"two truths": {microdata.Column{Array: truths},
			swapColumn{starts: []uint64{0}, lengths: []uint32{2}, nulls: []bool{false}, bytes: make([]byte, 2)},
			decision.ErrDamaged},
	} {
		if err := c.value.fits(&c.col, []move{{}}); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	for want, of := range map[int][]arrow.DataType{
		0: {arrow.BinaryTypes.String,
			&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}},
		1: {arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8},
		8: {arrow.PrimitiveTypes.Float64,
			&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Int64}},
	} {
		for _, typ := range of {
			if got := cellWidth(typ); got != want {
				t.Errorf("%s: %d bytes, want %d", typ, got, want)
			}
		}
	}
}

// FuzzSurveysInParts: for any bytes, surveys and decisions of shards are refused or used, and if
// used they exchange only records of the shard.
func FuzzSurveysInParts(f *testing.F) {
	columns := displacementData(60, 2, 0.5, true)
	setup := testSetup(f, columns...)
	of := []core.Stretch{{Stream: 0, First: 0, N: 30}}
	masks := []core.Spec{mask(&record.Noise{Columns: []string{"a"}, SD: amount(3)}), mask(swapMask("random", "dataset", 0.7))}
	whole := chain(f, setup, masks...)
	d := whole.Displacer()
	part := chain(f, setup, masks...)
	displaced := part.Displacer()
	if err := errors.Join(part.Survey(block(0, 30, columns...)), displaced.Survey(block(0, 30, columns...))); err != nil {
		f.Fatal(err)
	}
	found, err := part.MarshalSurvey()
	if err = errors.Join(err, whole.MergeSurvey(found, of), d.MergeSurvey(displaced.MarshalSurvey(), 30),
		whole.EndSurvey()); err != nil {
		f.Fatal(err)
	}
	d.EndSurvey()
	decided, err := whole.MarshalDecisions(of)
	if err != nil {
		f.Fatal(err)
	}
	outcomes, err := d.MarshalDecisions(displaced.MarshalSurvey())
	if err != nil {
		f.Fatal(err)
	}
	for kind, text := range [][]byte{found, decided, displaced.MarshalSurvey(), outcomes} {
		f.Add(byte(kind), text)
	}
	f.Fuzz(func(t *testing.T, kind byte, text []byte) {
		c := chain(t, setup, masks...)
		switch kind % 4 {
		case 0:
			if c.MergeSurvey(text, of) != nil || c.EndSurvey() != nil {
				return
			}
			again, err := c.MarshalDecisions(of)
			if err == nil {
				err = chain(t, setup, masks...).UseDecisions(again, of)
			}
			if err != nil {
				t.Fatalf("a decoded survey cannot be encoded again: %v", err)
			}
		case 1:
			if c.UseDecisions(text, of) != nil {
				return
			}
			for _, list := range c.InParts()[0].(*datasetSwap).moves {
				for _, m := range list {
					if m.row < 0 || m.row >= 30 {
						t.Fatalf("record %d is to be exchanged", m.row)
					}
				}
			}
			_ = c.Apply(block(0, 30, columns...)) // refused, or applied
		case 2:
			d := c.Displacer()
			if d.MergeSurvey(text, 30) == nil {
				d.EndSurvey()
				_, _ = d.MarshalDecisions(text)
			}
		case 3:
			d := c.Displacer()
			if d.UseDecisions(text) == nil {
				_ = d.Apply(block(0, 30, columns...))
			}
		}
	})
}
