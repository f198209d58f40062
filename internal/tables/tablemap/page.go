package tablemap

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/figure"
)

//go:embed page.html.tmpl
var pageTemplate string

var page = template.Must(template.New("map").Funcs(template.FuncMap{"join": strings.Join}).Parse(pageTemplate))

// pageView holds the data of the page of a map.
type pageView struct {
	*Map
	Title, Basis string
	Chosen       *Point
	Figure       template.HTML
	Style        template.CSS
	Rows         []pageRow
}

type pageRow struct {
	*Point
	Risk, Square, Utility, Same string
	Recommended                 bool
}

// WriteHTML writes map.html, a single page without external resources.
func (m *Map) WriteHTML(w io.Writer) error {
	v := pageView{Map: m, Title: "R-U map of " + strings.Join(m.Tables, ", "), Basis: m.basis(),
		Style: template.CSS(figure.Style())}
	v.Figure = template.HTML(
		figure.TableMapSVG(m.picture(), figure.SVGOptions{Width: 960, Height: 560, ID: "map", Still: true}))
	if m.Recommended != nil {
		v.Chosen = &m.Points[*m.Recommended]
	}
	number := func(f float64) string { return figure.Pretty(f, figure.RiskDigits) }
	for i := range m.Points {
		p := &m.Points[i]
		v.Rows = append(v.Rows,
			pageRow{p, number(float64(p.R)), number(float64(p.Error)), number(float64(p.U)),
				figure.Percent(float64(p.Efficiency)), p == v.Chosen})
	}
	var b bytes.Buffer
	if err := page.Execute(&b, v); err != nil {
		return fmt.Errorf("map.html: %w", err)
	}
	_, err := w.Write(figure.PageText(b.Bytes()))
	return err
}

// picture converts the map to the form that package figure draws.
func (m *Map) picture() figure.TableMap {
	f := figure.TableMap{Title: "R-U confidentiality map of " + strings.Join(m.Tables, ", "), MaxRisk: float64(m.MaxRisk),
		MinUtility: float64(m.MinUtility), Groups: m.Methods()}
	for i := range m.Points {
		p := &m.Points[i]
		if p.Impossible != "" {
			continue
		}
		f.Points = append(f.Points, figure.TablePoint{
			Group: slices.Index(f.Groups, p.Method), Text: p.Setting, R: float64(p.R), U: float64(p.U),
			Admissible: p.Admissible, Recommended: m.Recommended != nil && *m.Recommended == i,
		})
	}
	return f
}

// WriteSVG writes map.svg.
func (m *Map) WriteSVG(w io.Writer) error {
	_, err := w.Write(figure.TableMapSVG(m.picture(), figure.SVGOptions{ID: "map", Standalone: true}))
	return err
}

// WritePNG writes map.png.
func (m *Map) WritePNG(w io.Writer) error {
	return figure.WriteTableMapPNG(w, m.picture(), figure.SVGOptions{ID: "map"}, 2)
}
