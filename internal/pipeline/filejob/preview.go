package filejob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Preview is the first rows of a release, as text.
type Preview struct {
	Columns  []string
	Masked   []bool     // by column
	Released [][]string // by row, then column
	Original [][]string
	// Synthetic are the columns whose values are drawn from a model. Copies is the number of
	// copies that a run makes, of which the preview shows the first.
	Synthetic []string
	Copies    int
	Rejected  int // records among those read that would go to quarantine
	// Cut is the reason why there are fewer rows than were asked for; "" if there are as many, or
	// the source has no more.
	Cut string
}

// freePreview is the number of masked rows that are shown although no gate has judged them
// yet.
const freePreview = 100

// NewPreview masks the first records of the source and stops when it has the given number of
// rows. What the masks need to know about all data is read first, as in a run. There are at
// most 100 rows, unless the last run of this configuration on these files has passed its gate:
// otherwise a preview could show all rows of a release that the gate refuses. The logger is that of ctx, if there is
// one.
func NewPreview(ctx context.Context, p *config.Pipeline, rows int, progress *pipeline.Progress) (*Preview, error) {
	key, err := p.Key.Resolve()
	if err != nil {
		return nil, pipeline.DataErrorf("%v", err)
	}
	src, err := pipeline.OpenSource(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	defer src.Close()
	view := &Preview{Copies: p.Copies()}
	if rows > freePreview {
		if why := notReleased(ctx, p, key, src); why != "" {
			rows, view.Cut = freePreview, why
		}
	}
	job := pipeline.Job{Config: p, Source: src, Key: key, Log: *zerolog.Ctx(ctx), Progress: progress}
	r, err := job.Masks(ctx)
	if err != nil {
		return nil, err
	}
	pl := r.Plan
	for _, out := range pl.Layout.Release {
		view.Columns = append(view.Columns, out.Field.Name)
		view.Masked = append(view.Masked, out.Masked)
		if transform.IsSynthetic(p.Masks, out.Field.Name) {
			view.Synthetic = append(view.Synthetic, out.Field.Name)
		}
	}
	if err := view.fill(ctx, pl, r.Chain, rows); err != nil {
		return nil, err
	}
	if len(view.Released) < rows {
		view.Cut = "" // these are all rows
	}
	if err := connectors.Unchanged(src); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	return view, nil
}

// fill masks records until there are enough rows, or no more.
func (v *Preview) fill(ctx context.Context, pl *pipeline.Plan, chain *transform.Chain, rows int) error {
	reader, err := pl.Source.Read(ctx, pl.Layout, pl.Cut)
	if err != nil {
		return err
	}
	defer reader.Close()
	block := new(microdata.Block)
	for len(v.Released) < rows {
		raw, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := raw.Decode(block); err != nil {
			return err
		}
		pl.Layout.Fill(block)
		if err := chain.Apply(block); err != nil {
			return err
		}
		if _, err := transform.Restore(block); err != nil {
			return err
		}
		v.add(pl, block, rows)
	}
	return nil
}

// notReleased returns why the rows of a configuration have not been released yet: its report
// is missing, is about another configuration, key or release, or is older than the source. It
// returns "" if they have.
func notReleased(ctx context.Context, p *config.Pipeline, key keystream.Key, src connectors.Source) string {
	if p.Report.JSON == "" {
		return "no report of a run tells that its gate has passed (report.json)"
	}
	text, err := os.ReadFile(p.Report.JSON)
	if err != nil {
		return "there is no report of a run whose gate has passed"
	}
	rep, err := report.Parse(text)
	switch {
	case err != nil:
		return "the report of the last run cannot be read"
	case !rep.Gate.Passed || rep.Withheld != "":
		return "the gate refused the last run"
	case rep.ConfigSHA256 != p.SHA256() || rep.KeyID != key.ID():
		return "the last run was one of another configuration or key"
	}
	if changed := src.Abilities().Changed; changed == nil || changed().IsZero() || !changed().Before(rep.Started) {
		return "the source is not known to be the one of the last run"
	}
	if v, err := Verify(ctx, p.Report.JSON, ""); err != nil || !v.Agree {
		return "the report of the last run is not that of the release beside it"
	}
	return ""
}

// add adds rows of a block until there are enough.
func (v *Preview) add(pl *pipeline.Plan, b *microdata.Block, rows int) {
	for i := 0; i < b.N && len(v.Released) < rows; i++ {
		if b.Rejected(i) {
			if slices.ContainsFunc(b.Rejects, func(r microdata.Reject) bool { return r.Row == i }) {
				v.Rejected++
			}
			continue
		}
		released, original := make([]string, len(v.Columns)), make([]string, len(v.Columns))
		for j, out := range pl.Layout.Release {
			c := &b.Columns[out.Column]
			if pl.Layout.Read[out.Column].As == microdata.Array {
				released[j], original[j] = c.OutArray().ValueStr(i), c.Array.ValueStr(i)
				continue
			}
			released[j], original[j] = number(c.Out(), i, out), number(c.Original, i, out)
		}
		v.Released = append(v.Released, released)
		v.Original = append(v.Original, original)
	}
}

// number formats a value as a sink that writes text does.
func number(v microdata.Vector, i int, out microdata.Output) string {
	if !v.Valid.Has(i) {
		return "(null)"
	}
	bits := 64
	if out.Field.Type.Name() == "float32" {
		bits = 32
	}
	return strconv.FormatFloat(v.Values[i], 'f', -1, bits)
}
