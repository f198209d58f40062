package monitor

import (
	_ "embed"
	"html/template"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/figure"
)

//go:embed live.html.tmpl
var liveHTML string

//go:embed live.css
var ownCSS string

//go:embed live.js
var liveJS string

var livePage = template.Must(template.New("live").Parse(liveHTML))

// liveCSS is the style of the figures and, after it, that of the page.
func liveCSS() string { return figure.Style() + "\n" + ownCSS }

// page is the live page without figures: the script fills in what the events say.
func (m *Monitor) page() string {
	var b strings.Builder
	if err := livePage.Execute(&b, m.info); err != nil {
		return "" // of a template that is tested with words of every kind
	}
	return b.String()
}
