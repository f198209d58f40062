package tabling

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// apriori reads the a priori lists of the cells of a family. costs is nil if no list has
// any. No error about a number repeats the number.
func (r *records) apriori(f *family) (list []primary.Listed, costs []float64) {
	for k, i := range f.of {
		path := r.config.Tables[i].Apriori
		if path == "" {
			continue
		}
		a := &aprioriFile{records: r, family: f, table: k, at: fmt.Sprintf("tables[%d].apriori", i), path: path, costs: costs}
		file, err := os.Open(path)
		if err != nil {
			r.wrong(a.at, "file %s %s", path, form.Reason(err))
			continue
		}
		if isHST(path) {
			a.readHST(file)
		} else {
			a.read(file)
		}
		file.Close()
		list, costs = append(list, a.list...), a.costs
	}
	return list, costs
}

// aprioriFile is an a priori list while it is read.
type aprioriFile struct {
	*records
	family   *family
	table    int // of the family's set
	at, path string
	head     []string
	list     []primary.Listed
	costs    []float64
}

func (a *aprioriFile) read(in io.Reader) {
	c := csv.NewReader(in)
	c.TrimLeadingSpace = true
	var err error
	if a.head, err = c.Read(); err != nil {
		a.wrong(a.at, "file %s must be CSV with a header", a.path)
		return
	}
	for i := range a.head {
		a.head[i] = strings.TrimSpace(strings.TrimPrefix(a.head[i], "\ufeff"))
	}
	known := []string{"as", "up", "down", "cost"}
	for _, d := range a.family.set.Tables[a.table].Dimensions {
		known = append(known, d.Name)
		if !slices.Contains(a.head, d.Name) {
			a.wrong(a.at, "file %s must have a column %s", a.path, d.Name)
		}
	}
	for _, h := range a.head {
		if !slices.Contains(known, h) {
			a.wrong(a.at, "file %s has a column %q, which is none of %s", a.path, h, strings.Join(known, ", "))
		}
	}
	if len(a.problems) > 0 {
		return
	}
	for {
		record, err := c.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		line := lineOf(c, err)
		if err != nil {
			a.wrong(a.at, "file %s cannot be read at line %d: it must have as many fields as the header has", a.path, line)
			return
		}
		a.row(record, line)
	}
}

// lineOf returns the line at which a record begins that was read with this error, nil or not.
func lineOf(c *csv.Reader, err error) int {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return parse.StartLine
	}
	line, _ := c.FieldPos(0)
	return line
}

func (a *aprioriFile) field(record []string, name string) string {
	if i := slices.Index(a.head, name); i >= 0 {
		return strings.TrimSpace(record[i])
	}
	return ""
}

func (a *aprioriFile) row(record []string, line int) {
	var codes []string
	for _, d := range a.family.set.Tables[a.table].Dimensions {
		codes = append(codes, a.field(record, d.Name))
	}
	cell, err := a.family.set.At(a.table, codes...)
	if err != nil {
		a.wrong(a.at, "%s:%d: %v", a.path, line, err)
		return
	}
	if cost := a.number(record, "cost", line, 1); cost >= 0 {
		a.setCost(cell, cost)
	}
	l := primary.Listed{Cell: cell, Line: line}
	switch as := a.field(record, "as"); as {
	case "":
		return
	case "safe":
		l.As = primary.Safe
	case "published":
		l.As = primary.Published
	case "unsafe": // the same as no entry
		scale := math.Pow10(a.family.options.Decimals)
		l.Up, l.Down = max(a.number(record, "up", line, scale), 0), max(a.number(record, "down", line, scale), 0)
	default:
		a.wrong(a.at, "%s:%d: as must be safe, unsafe or published", a.path, line)
		return
	}
	a.list = append(a.list, l)
}

// setCost sets the cost of a cell; all others cost 1 unless a list says otherwise.
func (a *aprioriFile) setCost(cell int, cost float64) {
	if a.costs == nil {
		a.costs = make([]float64, a.family.set.Cells())
		for i := range a.costs {
			a.costs[i] = 1
		}
	}
	a.costs[cell] = cost
}

// number reads a number of at least 0; -1 if there is none.
func (a *aprioriFile) number(record []string, name string, line int, scale float64) float64 {
	text := a.field(record, name)
	if text == "" {
		return -1
	}
	return a.parse(text, name, line, scale)
}

// parse reads a number of at least 0; -1 if it is none.
func (a *aprioriFile) parse(text, name string, line int, scale float64) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		a.wrong(a.at, "%s:%d: %s must be a number of at least 0", a.path, line, name)
		return -1
	}
	return v * scale
}
