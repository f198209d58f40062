package account

import (
	"context"
	"fmt"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// Probe asks every bucket that a run publishes into whether it takes objects under their names, before the data are
// read, and leaves nothing there: that of each release, of the reports and their public twins, and of the quarantine.
func Probe(ctx context.Context, p *config.Pipeline) error {
	type place struct{ what, path string }
	var all []place
	for number := 1; number <= p.Copies(); number++ {
		one := p
		if p.Copies() > 1 {
			one = p.OfCopy(number)
		}
		for _, path := range one.Sink.Config.Paths() {
			all = append(all, place{"sink", path})
		}
		all = append(all, place{"quarantine", one.Quarantine.JSONL})
	}
	r := p.Report
	for _, path := range []string{r.JSON, config.PublicPath(r.JSON), r.HTML, config.PublicPath(r.HTML), r.Board, r.XLSX} {
		all = append(all, place{"report", path})
	}
	for _, at := range all {
		if err := publish.Probe(ctx, at.path); err != nil {
			return fmt.Errorf("%s: %w", at.what, err)
		}
	}
	return nil
}
