// Package jj reads and writes tables with their sums in the format JJ, in which τ-ARGUS
// passes cells to its programs for secondary suppression, which return the suppressed cells
// (writeJJFormat of sdcTable; JJFormat.cpp of τ-ARGUS). It is a text file with a 0, the
// number of cells, one line per cell
//
//	number value cost status lower upper LPL UPL SPL
//
// with the number (when written here, from 0 in order), the status s (may be suppressed), z (may not be
// suppressed), u (unsafe) or m (secondary suppression), the bounds of the value that everybody knows
// beforehand, and the protection levels: how far below and above the value the inferred interval must reach,
// and how wide it must be. Then follow the number of sums and one line per sum
//
//	0 4 : 0 (-1) 1 (1) 2 (1) 3 (1)
//
// with its number of cells, its total and its parts.
package jj

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
)

// The statuses.
const (
	Safe      = 's'
	Fixed     = 'z' // may not be held back
	Unsafe    = 'u'
	Secondary = 'm' // held back for others
)

// Cell is one cell. Its number in a table is its index there, independent of its number
// in a file.
type Cell struct {
	Value, Cost  float64
	Status       byte
	Lower, Upper float64 // known beforehand
	Down, Up     float64 // lower and upper protection level
	Sliding      float64
}

// Held reports whether a cell is suppressed.
func (c *Cell) Held() bool { return c.Status == Unsafe || c.Status == Secondary }

// Sum says that a cell is the sum of others.
type Sum struct {
	Total int32
	Parts []int32
}

// Table holds cells and their sums.
type Table struct {
	Cells []Cell
	Sums  []Sum
}

// Write writes a table: values with the given number of decimals and protection levels with
// three more, as τ-ARGUS does. It returns the error of out.
func (t *Table) Write(out io.Writer, decimals int) error {
	w := bufio.NewWriter(out)
	number := func(v float64, more int) string { return strconv.FormatFloat(v, 'f', decimals+more, 64) }
	fmt.Fprintf(w, "0\n%d\n", len(t.Cells))
	for i, c := range t.Cells {
		fmt.Fprintf(w, "%d %s %s %c %s %s %s %s %s\n", i, number(c.Value, 0), strconv.FormatFloat(c.Cost, 'f', -1, 64),
			c.Status,
			number(c.Lower, 0), number(c.Upper, 0), number(c.Down, 3), number(c.Up, 3), number(c.Sliding, 0))
	}
	fmt.Fprintf(w, "%d\n", len(t.Sums))
	for _, s := range t.Sums {
		fmt.Fprintf(w, "0 %d : %d (-1)", len(s.Parts)+1, s.Total)
		for _, p := range s.Parts {
			fmt.Fprintf(w, " %d (1)", p)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// MaxCells is the largest number of cells, and of sums, that Read accepts.
const MaxCells = 1 << 30

// mostWrong is the greatest number of problems that are listed.
const mostWrong = 10

// reader is the state while a file is read.
type reader struct {
	in       *bufio.Reader
	line     int
	table    *Table
	places   map[int]int32 // of a cell, by its number
	problems check.Problems
	more     int
}

// Read reads a table. It returns all problems at once, by line, at most the first mostWrong and
// the number of the others; they contain no values. Cells and sums may be in any order, and so
// may the cells of a sum. Cells may have any distinct numbers from 0.
func Read(in io.Reader) (*Table, check.Problems) {
	r := &reader{in: bufio.NewReader(in), table: &Table{}, places: map[int]int32{}}
	if kind, ok := r.next(); !ok || kind != "0" {
		r.wrong("must be 0, the first line of the format JJ")
		return nil, r.problems
	}
	cells, ok := r.count("cells")
	for i := 0; ok && i < cells; i++ {
		ok = r.cell(i)
	}
	sums := 0
	if ok {
		sums, ok = r.count("sums")
	}
	for i := 0; ok && i < sums; i++ {
		ok = r.sum()
	}
	if ok {
		if _, more := r.next(); more {
			r.wrong("must not be there: all %d sums have been read", sums)
		}
	}
	if r.more > 0 {
		r.problems.Addf("", "and %d lines more", r.more)
	}
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return r.table, nil
}

func (r *reader) wrong(format string, args ...any) {
	if len(r.problems) == mostWrong {
		r.more++
		return
	}
	r.problems.Addf(strconv.Itoa(max(r.line, 1)), format, args...)
}

// next returns the next line that is not empty; false at the end.
func (r *reader) next() (string, bool) {
	for {
		text, err := r.in.ReadString('\n')
		if text != "" {
			r.line++
		}
		if text = strings.TrimSpace(text); text != "" {
			return text, true
		}
		if err != nil {
			return "", false
		}
	}
}

// need returns the next line, which must exist; what names its content in the problem.
func (r *reader) need(what string) (string, bool) {
	text, ok := r.next()
	if !ok {
		r.line++
		r.wrong("the file ends here, must have %s", what)
	}
	return text, ok
}

func (r *reader) count(of string) (int, bool) {
	text, ok := r.need("the number of " + of)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > MaxCells {
		r.wrong("must be the number of %s, at most %d", of, MaxCells)
		return 0, false
	}
	return n, true
}

// cell reads cell i; it returns false at the end of the file.
func (r *reader) cell(i int) bool {
	text, ok := r.need(fmt.Sprintf("%d cells", i+1))
	if !ok {
		return false
	}
	f := strings.Fields(text)
	if len(f) != 9 {
		r.wrong("must be a cell of 9 fields, got %d", len(f))
		r.table.Cells = append(r.table.Cells, Cell{})
		return true
	}
	var c Cell
	if n, err := strconv.Atoi(f[0]); err != nil || n < 0 {
		r.wrong("field 1 must be the number of the cell, at least 0")
	} else if _, twice := r.places[n]; twice {
		r.wrong("must be a cell of its own: a line before has its number")
	} else {
		r.places[n] = int32(i)
	}
	for k, to := range map[int]*float64{1: &c.Value, 2: &c.Cost, 4: &c.Lower, 5: &c.Upper, 6: &c.Down, 7: &c.Up,
		8: &c.Sliding} {
		v, err := strconv.ParseFloat(f[k], 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			r.wrong("field %d must be a number", k+1)
		}
		*to = v
	}
	if c.Status = f[3][0]; len(f[3]) != 1 || !strings.Contains("szum", f[3]) {
		r.wrong("field 4 must be the status s, z, u or m")
	}
	r.table.Cells = append(r.table.Cells, c)
	return true
}

// sum reads a sum; it returns false at the end of the file.
func (r *reader) sum() bool {
	text, ok := r.need("another sum")
	if !ok {
		return false
	}
	f := strings.Fields(text)
	if len(f) < 3 || f[2] != ":" {
		r.wrong("must be a sum: 0, the number of its cells, a colon, its cells")
		return true
	}
	if v, err := strconv.ParseFloat(f[0], 64); err != nil || v != 0 {
		r.wrong("must begin with 0: cells add up to their total, and nothing else is read")
	}
	if n, err := strconv.Atoi(f[1]); err != nil || len(f) != 3+2*n || n < 2 {
		r.wrong("must have as many cells as it says, at least 2")
		return true
	}
	s := Sum{Total: -1}
	for k := 3; k < len(f); k += 2 {
		number, err := strconv.Atoi(f[k])
		cell, known := r.places[number]
		if err != nil || !known {
			r.wrong("field %d must be the number of a cell above", k+1)
			return true
		}
		switch weight := f[k+1]; {
		case weight == "(-1)" && s.Total < 0:
			s.Total = cell
		case weight == "(1)":
			s.Parts = append(s.Parts, cell)
		default:
			r.wrong("field %d must be (1), or once (-1), of the total", k+2)
			return true
		}
	}
	if s.Total < 0 {
		r.wrong("must have a total, of weight (-1)")
		return true
	}
	r.table.Sums = append(r.table.Sums, s)
	return true
}
