package survey

import (
	"fmt"
	"strings"
	"testing"
)

// release returns the correct release: without the identifier, with changed numbers.
func release(records Records, counts []int64) []Released {
	var out []Released
	for p, n := range counts {
		for o := range n {
			r := records.At(int32(p), o)
			r.Wage += 13.5
			r.Hours++
			value := string(r.AppendJSON(nil))
			value = strings.Replace(value, fmt.Sprintf(`"name":"%s",`, r.Name), "", 1)
			out = append(out, Released{Partition: int32(p), Value: []byte(value)})
		}
	}
	return out
}

func TestRecordsAreFunctionsOfTheirPlace(t *testing.T) {
	records := Records{Seed: 7, Partitions: 4}
	a := records.At(3, 1234)
	if b := records.At(3, 1234); a != b {
		t.Errorf("%v and %v", a, b)
	}
	if b := (Records{Seed: 8, Partitions: 4}).At(3, 1234); a == b {
		t.Error("another seed gives the same record")
	}
	if p, o, err := Place(a.ID); p != 3 || o != 1234 || err != nil {
		t.Errorf("the place of %s is %d %d %v", a.ID, p, o, err)
	}
	length := 0
	for o := range int64(1000) {
		length += len(records.At(0, o).AppendJSON(nil))
	}
	if mean := length / 1000; mean < 130 || mean > 170 {
		t.Errorf("records have %d bytes, want about 150", mean)
	}
	total := int64(0)
	for p, n := range records.Counts(10_000) {
		total += n
		// A partition gets 2,500 ± 43.
		if n < 2200 || n > 2800 {
			t.Errorf("partition %d gets %d of 10,000", p, n)
		}
	}
	if total != 10_000 {
		t.Errorf("%d of 10,000 records have a partition", total)
	}
}

// TestCheckFindsWhatIsWrong tests the check on which every fault test depends.
func TestCheckFindsWhatIsWrong(t *testing.T) {
	records := Records{Seed: 1, Partitions: 3}
	counts := records.Counts(300)
	edit := func(i int, old, new string) func([]Released) []Released {
		return func(r []Released) []Released {
			text := string(r[i].Value)
			if !strings.Contains(text, old) {
				panic(old + " is not in " + text)
			}
			r[i].Value = []byte(strings.Replace(text, old, new, 1))
			return r
		}
	}
	for _, c := range []struct {
		name   string
		change func([]Released) []Released
		expect Expectation
		want   string // "": no error
	}{
		{name: "right"},
		{name: "one missing", change: func(r []Released) []Released {
			return append(r[:50:50], r[51:]...)
		}, want: "1 records are missing, 0-00000050"},
		{name: "the last missing", change: func(r []Released) []Released { return r[:299] }, want: "1 records are missing"},
		{name: "one twice", change: func(r []Released) []Released {
			return append(r, r[10])
		}, want: "1 records came more than once"},
		{name: "one twice, allowed", change: func(r []Released) []Released {
			return append(r, r[10])
		}, expect: Expectation{Repeated: true}},
		{name: "one twice, with another value", expect: Expectation{Repeated: true}, want: "with different values",
			change: func(r []Released) []Released {
				return edit(300, `"wage":`, `"wage":1`)(append(r, r[10]))
			}},
		{name: "out of order", change: func(r []Released) []Released {
			r[5], r[6] = r[6], r[5]
			return r
		}, want: "comes after the record at offset"},
		{name: "out of order, a file", change: func(r []Released) []Released {
			r[5], r[6] = r[6], r[5]
			return r
		}, expect: Expectation{Anywhere: true}},
		{name: "in another partition", change: func(r []Released) []Released {
			r[5].Partition = 2
			return r
		}, want: "0-00000005 is in partition 2"},
		{name: "identifier", change: edit(5, `"id":`, `"name":"Respondent-1","id":`), want: "the identifier was released"},
		{name: "another member", change: edit(5, `"region":"`, `"region":"x`), want: "not masked has changed"},
		{name: "no JSON", change: edit(5, `{`, ``), want: "is not JSON"},
		{name: "no hours", change: edit(5, `"hours"`, `"h"`), want: "lacks a member"},
		{name: "never put in", change: edit(5, `"id":"0-00000005"`, `"id":"0-00009005"`),
			want: "0-00009005 was never put in"},
		{name: "held back", expect: Expectation{Without: map[string]bool{"0-00000005": true}},
			want: "was to be held back and was released"},
		{name: "poisoned", expect: Expectation{Without: map[string]bool{"0-00000050": true}},
			change: func(r []Released) []Released { return append(r[:50:50], r[51:]...) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := c.expect
			e.Records, e.Counts = records, counts
			r := release(records, counts)
			if c.change != nil {
				r = c.change(r)
			}
			err := e.Check(r).Err()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestSameAndMasked(t *testing.T) {
	records := Records{Seed: 1, Partitions: 3}
	e := Expectation{Records: records, Counts: records.Counts(300)}
	a := e.Check(release(records, e.Counts)).Values
	b := e.Check(release(records, e.Counts)).Values
	if err := Same(a, b); err != nil {
		t.Error(err)
	}
	if err := e.Masked(a); err != nil {
		t.Error(err)
	}
	id := ID(1, 3)
	b[id] = [2]float64{b[id][0] + 0.01, b[id][1]}
	if err := Same(a, b); err == nil || !strings.Contains(err.Error(), id) {
		t.Errorf("got %v, want %s to differ", err, id)
	}
	delete(b, id)
	if err := Same(a, b); err == nil {
		t.Error("a record that only one release has is not noticed")
	}
	if err := Same(b, a); err == nil {
		t.Error("a record that only the other release has is not noticed")
	}
	for id := range a {
		p, o, _ := Place(id)
		in := records.At(p, o)
		a[id] = [2]float64{in.Wage, a[id][1]}
	}
	if err := e.Masked(a); err == nil {
		t.Error("wages as they went in are not noticed")
	}
}
