package jj

import (
	"bytes"
	_ "embed"
	"reflect"
	"strings"
	"testing"
)

//go:embed testdata/hand.jj
var hand string

// handTable is hand.jj, written out.
func handTable() *Table {
	t := &Table{
		Sums: []Sum{{0, []int32{3, 6}}, {1, []int32{4, 7}}, {2, []int32{5, 8}}, {0, []int32{1, 2}}, {3, []int32{4, 5}},
			{6, []int32{7, 8}}},
	}
	for i, v := range []float64{20.5, 8.5, 12, 10, 2.5, 7.5, 10.5, 6, 4.5} {
		t.Cells = append(t.Cells, Cell{Value: v, Cost: 1, Status: "ssssumsmz"[i], Upper: 41})
	}
	t.Cells[3].Cost, t.Cells[4].Down, t.Cells[4].Up = 2.5, 2.5, 3.125
	return t
}

// A file written by hand is read and written again to the byte, for any order of the cells
// in sums and for any spaces.
func TestHandWrittenFile(t *testing.T) {
	want := handTable()
	for name, text := range map[string]string{
		"as it is": hand, "spaces": strings.ReplaceAll(strings.ReplaceAll(hand, " ", "  "), "\n", " \r\n\n"),
		"no last line end": strings.TrimSpace(hand),
	} {
		got, problems := Read(strings.NewReader(text))
		if len(problems) > 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %+v", name, problems, got)
		}
	}
	other,
		problems := Read(
		strings.NewReader(strings.Replace(hand, "0 3 : 3 (-1) 4 (1) 5 (1)", "0.0 3 : 4 (1) 5 (1) 3 (-1)", 1)))
	if len(problems) > 0 || !reflect.DeepEqual(other, want) {
		t.Errorf("total last: %v, %+v", problems, other)
	}
	var b bytes.Buffer
	if err := want.Write(&b, 1); err != nil || b.String() != hand {
		t.Errorf("%v\n%s", err, b.String())
	}
	for i, held := range []bool{false, false, false, false, true, true, false, true, false} {
		if want.Cells[i].Held() != held {
			t.Errorf("cell %d: %v", i, held)
		}
	}
}

// Cells in another order and with other numbers are the same cells of the same sums.
func TestNumbersOfAnyOrder(t *testing.T) {
	table,
		problems := Read(
		strings.NewReader(
			"0\n3\n70 2 1 u 0 9 1 1 0\n7 5 1 s 0 9 0 0 0\n700 3 1 m 0 9 0 0 0\n1\n0 3 : 700 (1) 7 (-1) 70 (1)\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if table.Cells[0].Value != 2 || table.Cells[1].Value != 5 || table.Cells[2].Value != 3 ||
		!reflect.DeepEqual(table.Sums, []Sum{{1, []int32{2, 0}}}) {
		t.Errorf("%+v", table)
	}
}

// All problems are reported with their lines, and without the values of a cell's fields.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{hand, "", "1: must be 0, the first line"},
		{"0\n9\n", "1\n9\n", "1: must be 0, the first line"},
		{"\n9\n", "\nnine\n", "2: must be the number of cells"},
		{"\n9\n", "\n-1\n", "2: must be the number of cells"},
		{"\n9\n", "\n9999999999\n", "2: must be the number of cells"},
		{"\n9\n", "\n10\n", "12: must be a cell of 9 fields, got 1"},
		{"\n9\n", "\n8\n", "11: must be the number of sums"},
		{"\n6\n", "\n7\n", "19: the file ends here, must have another sum"},
		{"\n6\n", "\n5\n", "18: must not be there: all 5 sums"},
		{"3 10.0 2.5 s", "4 10.0 2.5 s", "7: must be a cell of its own"},
		{"3 10.0 2.5 s", "-3 10.0 2.5 s", "6: field 1 must be the number of the cell"},
		{"3 10.0 2.5 s", "3.0 10.0 2.5 s", "6: field 1 must be the number of the cell"},
		{"3 10.0 2.5 s", "30 10.0 2.5 s", "17: field 4 must be the number of a cell above"},
		{"10.0 2.5 s", "ten 2.5 s", "6: field 2 must be a number"},
		{"10.0 2.5 s", "NaN 2.5 s", "6: field 2 must be a number"},
		{"10.0 2.5 s", "10.0 1e999 s", "6: field 3 must be a number"},
		{"10.0 2.5 s", "10.0 2.5 x", "6: field 4 must be the status"},
		{"10.0 2.5 s", "10.0 2.5 su", "6: field 4 must be the status"},
		{"10.0 2.5 s", "10.0 s", "6: must be a cell of 9 fields, got 8"},
		{"0 3 : 3 (-1)", "1 3 : 3 (-1)", "17: must begin with 0"},
		{"0 3 : 3 (-1)", "0 4 : 3 (-1)", "17: must have as many cells as it says"},
		{"0 3 : 3 (-1)", "0 3 3 (-1)", "17: must be a sum"},
		{"0 3 : 3 (-1)", "0 3 : 9 (-1)", "17: field 4 must be the number of a cell above"},
		{"0 3 : 3 (-1)", "0 3 : -3 (-1)", "17: field 4 must be the number of a cell above"},
		{"0 3 : 3 (-1)", "0 3 : 3 (1)", "17: must have a total"},
		{"0 3 : 3 (-1)", "0 3 : 3 (2)", "17: field 5 must be (1)"},
		{"0 3 : 3 (-1) 4 (1)", "0 3 : 3 (-1) 4 (-1)", "17: field 7 must be (1)"},
		{" s 0.0", " q 0.0", "and 0"},
	} {
		table, problems := Read(strings.NewReader(strings.ReplaceAll(hand, c.from, c.to)))
		var all []string
		for _, p := range problems {
			all = append(all, p.Error())
		}
		text := strings.Join(all, "\n")
		if c.want == "and 0" { // five lines at once
			if len(problems) != 5 {
				t.Errorf("%q", text)
			}
			continue
		}
		if table != nil || !strings.Contains(text, c.want) || strings.Contains(text, "20.5") {
			t.Errorf("%q for %q: %q, want %q", c.to, c.from, text, c.want)
		}
	}
	_, problems := Read(strings.NewReader("0\n20\n" + strings.Repeat("?\n", 20) + "0\n"))
	if len(problems) != mostWrong+1 || problems[mostWrong].Error() != "and 10 lines more" {
		t.Errorf("%v", problems)
	}
}

// Every table that is read is written such that reading it again gives the same table.
func FuzzRead(f *testing.F) {
	f.Add(hand)
	f.Add("0\n1\n0 1 1 s 0 2 0 0 0\n0\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, problems := Read(strings.NewReader(text))
		if (table == nil) != (len(problems) > 0) {
			t.Fatalf("%v, %v", table, problems)
		}
		if table == nil {
			return
		}
		var b bytes.Buffer
		if err := table.Write(&b, 2); err != nil {
			t.Fatal(err)
		}
		once, problems := Read(bytes.NewReader(b.Bytes()))
		if len(problems) > 0 {
			t.Fatalf("%v of\n%s", problems, b.String())
		}
		var again bytes.Buffer
		if err := once.Write(&again, 2); err != nil || again.String() != b.String() ||
			!reflect.DeepEqual(once.Sums, table.Sums) {
			t.Fatalf("%v\n%s\n%s", err, again.String(), b.String())
		}
	})
}
