package transform

import (
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/arraytest"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/displacement"
)

// textRecords are records of four texts each; "" is null.
type textRecords [][4]string

// textsToSwap returns records with a unique first text, sometimes null, and few keys and
// attributes.
func textsToSwap(n int) textRecords {
	list := make(textRecords, n)
	for i, r := range swapData(n, 21, 60, 3)[1].Values {
		own := fmt.Sprint("value ", i)
		if i%11 == 3 {
			own = ""
		}
		list[i] = [4]string{own, fmt.Sprint("key ", r), fmt.Sprint("k", i%2), fmt.Sprint("region ", i%3)}
		if i%17 == 5 {
			list[i][3] = ""
		}
	}
	return list
}

// Block makes a block of the records [from, to). Records with odd(i) are rejected.
func (list textRecords) block(from, to int, odd func(i int) bool) *microdata.Block {
	b := new(microdata.Block)
	b.Reset(0, int64(from), to-from, 4)
	for k := range 4 {
		of := array.NewStringBuilder(memory.DefaultAllocator)
		for _, r := range list[from:to] {
			if r[k] == "" {
				of.AppendNull()
			} else {
				of.Append(r[k])
			}
		}
		b.Columns[k].Array = of.NewArray()
	}
	for i := from; i < to; i++ {
		if odd(i) {
			b.Reject(i-from, "d", "is odd")
		}
	}
	return b
}

func textSetup(t *testing.T) Setup {
	setup := Setup{Key: testKey(t, 1), Window: 1 << 20}
	for i, name := range names(4) {
		setup.Columns = append(setup.Columns,
			ColumnInfo{Name: name, Index: i, Field: microdata.Field{Name: name, Type: arrow.BinaryTypes.String, Nullable: true}})
	}
	return setup
}

// Surveys in parts equal one survey if keys, attribute and exchanged values are texts, some of them
// missing, if a key first occurs in a later part, and if all records of a combination of keys are
// rejected. A rejected record neither gives nor receives.
func TestSurveysOfTextsInParts(t *testing.T) {
	const n = 400
	list := textsToSwap(n)
	for i := 250; i < n; i += 5 {
		list[i][1] = "late key"
	}
	for i := 7; i < n; i += 40 {
		list[i][2] = "rejected key"
	}
	odd := func(i int) bool { return list[i][2] == "rejected key" || i%29 == 0 }
	for _, policy := range []string{"random", "unique"} {
		masks := []Spec{mask(swapMask(policy, "dataset", 0.8))}
		one := chain(t, textSetup(t), masks...)
		if err := one.Survey(list.block(0, n, odd)); err != nil {
			t.Fatal(err)
		}
		if err := one.EndSurvey(); err != nil {
			t.Fatal(err)
		}
		want := arraytest.Texts(apply(t, one, list.block(0, n, odd)).Columns[0].OutArray())
		before := arraytest.Texts(list.block(0, n, odd).Columns[0].Array)
		moved := 0
		for i := range want {
			if want[i] != before[i] {
				if moved++; odd(i) {
					t.Errorf("%s: a rejected record received a value", policy)
				}
			}
			if given := slices.Index(before, want[i]); want[i] != "null" && odd(given) != odd(i) {
				t.Errorf("%s: record %d has the value of record %d, which is rejected", policy, i, given)
			}
		}
		if moved < 50 {
			t.Errorf("%s: only %d values were exchanged", policy, moved)
		}
		for _, ends := range [][]int{{n}, {0, 250, n}, {8, 47, 48, 300, n}} {
			whole, from, found := chain(t, textSetup(t), masks...), 0, [][]byte{}
			for _, end := range ends {
				part := chain(t, textSetup(t), masks...)
				if err := part.Survey(list.block(from, end, odd)); err != nil {
					t.Fatal(err)
				}
				survey, err := part.MarshalSurvey()
				if err != nil {
					t.Fatal(err)
				}
				if err := whole.MergeSurvey(survey, []Stretch{{Stream: 0, First: int64(from), N: int64(end - from)}}); err != nil {
					t.Fatalf("%s, ends %v: %v", policy, ends, err)
				}
				found, from = append(found, survey), end
			}
			if err := whole.EndSurvey(); err != nil {
				t.Fatal(err)
			}
			var got []string
			from = 0
			for _, end := range ends {
				of := []Stretch{{Stream: 0, First: int64(from), N: int64(end - from)}}
				decided, err := whole.MarshalDecisions(of)
				if err != nil {
					t.Fatal(err)
				}
				part := chain(t, textSetup(t), masks...)
				if err := part.UseDecisions(decided, of); err != nil {
					t.Fatalf("%s, ends %v: %v", policy, ends, err)
				}
				got, from = append(got, arraytest.Texts(apply(t, part, list.block(from, end, odd)).Columns[0].OutArray())...), end
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, ends %v: the exchanges differ from those of one survey", policy, ends)
			}
			for _, survey := range found { // a truncated survey is refused, wherever it ends
				for k := 0; k < len(survey); k += 1 + len(survey)/40 {
					if chain(t, textSetup(t), masks...).MergeSurvey(survey[:k], []Stretch{{Stream: 0, First: 0, N: n}}) == nil {
						t.Fatalf("%s: cut off after %d of %d bytes", policy, k, len(survey))
					}
				}
			}
		}
	}
}

// Displacers that survey parts give the same result as one survey if keys are texts and if all
// records of a combination of keys are rejected.
func TestDisplacementOfTextsInParts(t *testing.T) {
	const n = 400
	list := textsToSwap(n)
	for i := 7; i < n; i += 40 {
		list[i][2] = "rejected key"
	}
	odd := func(i int) bool { return list[i][2] == "rejected key" || i%29 == 0 }
	setup := textSetup(t)
	setup.Columns[0] = ColumnInfo{Name: "a", Index: 0,
		Field: microdata.Field{Name: "a", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, Decimals: 2, SD: 120,
		Mean: 200}
	blocks := func(from, to int) *microdata.Block {
		b := list.block(from, to, odd)
		v := b.Columns[0].Alloc(to-from, false)
		b.Columns[0].Array = nil
		for i := range v.Values {
			v.Values[i] = float64((from + i) * 37 % n)
		}
		return b
	}
	of := func() *displacement.Displacer {
		return chain(t, setup, mask(&Noise{Columns: []string{"a"}, SD: amount(3)}),
			mask(swapMask("random", "dataset", 0.7))).Displacer()
	}
	tell := func(d *displacement.Displacer, from, to int) (all []microdata.Moved) {
		b := blocks(from, to)
		if err := d.Apply(b); err != nil {
			t.Fatal(err)
		}
		m := &b.Columns[0].Moved
		for i := range b.N {
			all = append(all, microdata.Moved{Stay: m.Stay[i : i+1], Square: m.Square[i : i+1], Noise: m.Noise[i : i+1],
				Weight: m.Weight[i : i+1], Total: m.Total[i : i+1],
				Likeliest: m.Likeliest[i : i+1], Mean: m.Mean[i : i+1]})
		}
		return all
	}
	one := of()
	if err := one.Survey(blocks(0, n)); err != nil {
		t.Fatal(err)
	}
	one.EndSurvey()
	want := tell(one, 0, n)
	for _, ends := range [][]int{{n}, {0, 250, n}, {8, 47, 48, 300, n}} {
		whole, from, found := of(), 0, [][]byte{}
		for _, end := range ends {
			part := of()
			if err := part.Survey(blocks(from, end)); err != nil {
				t.Fatal(err)
			}
			found, from = append(found, part.MarshalSurvey()), end
			if err := whole.MergeSurvey(found[len(found)-1], n); err != nil {
				t.Fatalf("ends %v: %v", ends, err)
			}
		}
		whole.EndSurvey()
		var got []microdata.Moved
		from = 0
		for i, end := range ends {
			decided, err := whole.MarshalDecisions(found[i])
			if err != nil {
				t.Fatalf("ends %v: %v", ends, err)
			}
			part := of()
			if err := part.UseDecisions(decided); err != nil {
				t.Fatalf("ends %v: %v", ends, err)
			}
			got, from = append(got, tell(part, from, end)...), end
		}
		moving := 0
		for i := range want {
			if !sameMoved(&got[i], &want[i]) {
				t.Fatalf("ends %v: of record %d %+v, want %+v", ends, i, got[i], want[i])
			}
			if !odd(i) && want[i].Stay[0] < 1 {
				moving++
			}
		}
		if moving < n/2 {
			t.Errorf("%d may move", moving)
		}
	}
}

// The flag of an optional part is 0 or 1; other values are refused.
func TestMarksOfSurveysAreZeroOrOne(t *testing.T) {
	for n, want := range map[byte]bool{0: false, 1: true} {
		u := coding.Unpacker{Text: []byte{n}}
		if got := u.Mark(); got != want || u.Wrong {
			t.Errorf("%d is read as %v", n, got)
		}
	}
	for _, text := range [][]byte{{2}, {}, {0x80}, {255, 1}} {
		u := coding.Unpacker{Text: text}
		if u.Mark(); !u.Wrong {
			t.Errorf("% x is read", text)
		}
	}
}
