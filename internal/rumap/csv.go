package rumap

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/sdlfilter/sdlfilter/assess"
)

// WriteCSV writes map.csv: one row for each point, target and knowledge state.
// Its columns are strategy, each axis by its path (empty where the strategy does
// not vary it), U, U_se, efficiency, bias, admissible, target, knowledge, R, R_se
// and rmse; where points have them, ks, pmse, overlap, attribute_disclosure and epsilon follow (Map.Beside). Where R
// and U are also given by group, the group's columns and its number of records follow, empty in the rows of the whole
// data; the rows of a group have no U, U_se, bias, admissible and figures beside R and U. Infinite values are Infinity,
// what is not a number is empty.
func WriteCSV(w io.Writer, m *Map) error {
	c := csv.NewWriter(w)
	header := []string{"strategy"}
	for _, a := range m.Axes {
		header = append(header, a.Path)
	}
	header = append(header, "U", "U_se", "efficiency", "bias", "admissible", "target", "knowledge", "R", "R_se", "rmse")
	for _, b := range m.Beside() {
		header = append(header, b.Name)
	}
	if len(m.Groups) > 0 {
		header = append(append(header, m.Groups...), "records")
	}
	if err := c.Write(header); err != nil {
		return fmt.Errorf("map.csv: %w", err)
	}
	nan := assess.Float(nan)
	for i := range m.Points {
		p := &m.Points[i]
		whole := Group{Values: make([]string, len(m.Groups)), Efficiency: p.Efficiency, Risk: p.Risk}
		if err := m.writeRows(c, p, &whole, p.U, p.USE, p.Bias, strconv.FormatBool(p.Admissible), ""); err != nil {
			return err
		}
		for k := range p.Groups {
			g := &p.Groups[k]
			if err := m.writeRows(c, p, g, nan, nan, nan, "", strconv.Itoa(g.Records)); err != nil {
				return err
			}
		}
	}
	c.Flush()
	if err := c.Error(); err != nil {
		return fmt.Errorf("map.csv: %w", err)
	}
	return nil
}

func (m *Map) writeRows(c *csv.Writer, p *Point, g *Group, u, use, bias assess.Float, admissible,
	records string) error {
	if len(g.Values) != len(m.Groups) {
		return fmt.Errorf("map.csv: a group must have a value of each of the %d columns, has %d", len(m.Groups),
			len(g.Values))
	}
	row := []string{p.Strategy}
	for _, a := range m.Axes {
		v, ok := p.Parameters[a.Path]
		if !ok {
			v = nan
		}
		row = append(row, text(assess.Float(v)))
	}
	row = append(row, text(u), text(use), text(g.Efficiency), text(bias), admissible)
	fixed := len(row)
	var figures []string
	for _, b := range m.Beside() {
		v := assess.Float(nan)
		if records == "" { // those of a group are not known
			_, v = b.Of(p)
		}
		figures = append(figures, text(v))
	}
	if p.Impossible != "" {
		row = append(row, "", "", text(assess.Float(nan)), text(assess.Float(nan)), text(assess.Float(nan)))
		row = append(row, figures...)
		if len(m.Groups) > 0 {
			row = append(append(row, g.Values...), records)
		}
		return c.Write(row)
	}
	for _, k := range g.Risk {
		row = append(row[:fixed], k.Target, k.Knowledge, text(k.R), text(k.RSE), text(k.RMSE))
		row = append(row, figures...)
		if len(m.Groups) > 0 {
			row = append(append(row, g.Values...), records)
		}
		if err := c.Write(row); err != nil {
			return fmt.Errorf("map.csv: %w", err)
		}
	}
	return nil
}
