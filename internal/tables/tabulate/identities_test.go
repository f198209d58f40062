package tabulate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Cells with at most as many contributors as are asked for have the identities of all of them, and
// others have none, however the records are divided among accumulators.
func TestIdentitiesOfCells(t *testing.T) {
	set := linked(t)
	rng := rand.New(rand.NewPCG(38, 2))
	sizes := map[int]int{}
	for trial := range 60 {
		o := Options{Identities: 1 + trial%3, Holdings: trial%2 == 0, Most: 1}
		records := draw(rng, 3+rng.IntN(25), false)
		whole, problems := New(set, o)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		for at := 0; at < len(records); {
			n := 1 + rng.IntN(len(records)-at)
			part, _ := New(set, o)
			r := columns(part, records[at:at+n], o, false)
			for i := range n {
				r.Who = append(r.Who, uint64(1000+at+i))
			}
			if err := part.Add(r); err != nil {
				t.Fatal(err)
			}
			if err := whole.Merge(part); err != nil {
				t.Fatal(err)
			}
			at += n
		}
		c, err := whole.Cells()
		if err != nil {
			t.Fatal(err)
		}
		holdings := map[uint64]string{}
		for cell := range set.Cells() {
			var want []string
			table, nodes := set.Home(cell)
			for i, x := range records {
				in := true
				for k, d := range set.Tables[table].Dimensions {
					leaf, _ := d.Node(map[string]string{"region": x.region, "nace": x.nace}[d.Name])
					in = in && slices.Contains(d.Leaves(nodes[k]), int32(leaf))
				}
				if who := fmt.Sprint(1000 + i); in && !o.Holdings {
					want = append(want, who)
				} else if in && !slices.Contains(want, x.holding) {
					want = append(want, x.holding)
				}
			}
			if len(want) > o.Identities {
				want = nil
			}
			var got []string
			for _, w := range c.Few(cell) {
				if !o.Holdings {
					got = append(got, fmt.Sprint(w))
					continue
				}
				if len(want) == 1 { // the name of an identity: that of a cell with one contributor
					if name, known := holdings[w]; known && name != want[0] {
						t.Fatalf("%s: holdings %s and %s have one identity", set.Name(cell), name, want[0])
					}
					holdings[w] = want[0]
				}
				got = append(got, holdings[w])
			}
			slices.Sort(got)
			slices.Sort(want)
			unnamed := o.Holdings && slices.Contains(got, "") // not alone in a cell so far
			if len(got) != len(want) || !unnamed && !slices.Equal(got, want) {
				t.Fatalf("%+v, %s: contributors %v, want %v", o, set.Name(cell), got, want)
			}
			sizes[len(got)]++
		}
	}
	if sizes[1] < 50 || sizes[2] < 50 || sizes[3] < 20 || sizes[0] < 50 {
		t.Errorf("cells by number of identities: %v: the test shows little", sizes)
	}
	if _, problems := New(set, Options{Identities: MostIdentities + 1}); !strings.Contains(fmt.Sprint(problems),
		"identities: must be between 0 and 3, got 4") {
		t.Errorf("problems %v", problems)
	}
}

// A record is known by its place: in two streams, in two topics and at two places of one stream it
// is another one, and it is the same one in tables of other variables.
func TestRecordsAreKnownByPlace(t *testing.T) {
	set := linked(t)
	block := func(scope string, stream int, first int64) *microdata.Block {
		region, nace := array.NewStringBuilder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
		region.AppendValues([]string{"n1", "n1"}, nil)
		nace.AppendValues([]string{"A2", "A2"}, nil)
		var b microdata.Block
		b.Reset(stream, first, 2, 2)
		b.Scope = scope
		b.Columns[0].Array, b.Columns[1].Array = region.NewArray(), nace.NewArray()
		b.Reject(0, "x", "is not to be released")
		return &b
	}
	of := func(blocks ...*microdata.Block) []uint64 {
		a, problems := New(set, Options{Counts: true, Identities: 3})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		c := Columns{Value: -1, Weight: -1, Holding: -1, Request: -1}
		for _, d := range a.Variables() {
			c.Variables = append(c.Variables, map[string]int{"region": 0, "nace": 1}[d.Name])
		}
		for _, b := range blocks {
			if err := a.AddBlock(b, c); err != nil {
				t.Fatal(err)
			}
		}
		cells, err := a.Cells()
		if err != nil {
			t.Fatal(err)
		}
		return cells.Few(0)
	}
	for _, other := range []*microdata.Block{block("", 1, 5), block("", 0, 6), block("t", 0, 5), block("", 0, 4)} {
		if who := of(block("", 0, 5), other); len(who) != 2 || who[0] == who[1] {
			t.Errorf("identities %v", who)
		}
	}
	if a, b := of(block("", 0, 5)), of(block("", 0, 5)); !slices.Equal(a, b) || len(a) != 1 {
		t.Errorf("identities %v and %v of one record", a, b)
	}
	var none tables.Cells
	none.Contributors = []int64{0}
	if none.Few(0) != nil {
		t.Error("a cell without contributors has identities")
	}
}
