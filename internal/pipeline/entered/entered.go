// Package entered connects a run with the ledger of its configuration: which earlier releases its plan is to know of,
// and the entry of what it publishes.
package entered

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/ledger/place"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Ledger is the ledger that a run holds. A nil Ledger does nothing: the configuration names none.
type Ledger struct {
	held     *ledger.Ledger
	releases []ledger.Listed
	config   *config.Pipeline
	key      keystream.Key
	sketcher ledger.Sketcher
	sketch   *ledger.Sketch             // of shards that are joined; nil: sketcher's
	settled  bool                       // whether the ledger has the outcome of number
	adopted  bool                       // another commit of the same shards has entered number
	plan     string                     // of a release in shards: the manifest's ID
	number   int64                      // of the entry of this run; 0: none
	told     []*pipeline.EarlierRelease // of the releases, after Tell
	today    *pipeline.Plan             // after Tell
	pending  *ledger.Tables             // that are about to be published, with which a release is judged once more
	judged   map[int64]bool             // entries of tables that today's plan was told of
	project  bool                       // whether a project has the ledger, and judges what several tables tell together
	log      zerolog.Logger
}

// Open takes the ledger of a configuration, and waits while another run holds it. Until Close no other run is judged
// by it. Releases of runs that were killed are settled if it is certain that they were not published.
func Open(ctx context.Context, p *config.Pipeline, key keystream.Key, log zerolog.Logger) (*Ledger, error) {
	if p.Ledger == "" {
		return nil, nil
	}
	held, err := ledger.Open(ctx, p.Ledger, func() {
		log.Info().Str("path", place.Clean(p.Ledger)).Msg("another run holds the ledger; waiting for its end")
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if held.Torn {
		log.Warn().Str("path",
			held.Path()).Msg(
			"the last line of the ledger was cut off while it was written, and is removed: what it was about was not published by it")
	}
	l := &Ledger{held: held, config: p, key: key, log: log}
	if err := l.whole(ctx); err != nil {
		return nil, l.failed(err)
	}
	for _, r := range held.Unknown() {
		// Where a ledger is not held for certain, the run may be about to give its file the name.
		switch files := r.Contents(); {
		case held.Alone() && lies(ctx, files):
			err = held.Settle(r.Number, false)
		case held.Alone() && stands(ctx, files): // now, while nothing has taken its place
			err = held.Settle(r.Number, true)
		default:
			log.Warn().Int64("release", r.Number).Str("name",
				r.Name()).Msg("a run was killed while it published this release, which counts as published")
		}
		if err != nil {
			return nil, l.failed(err)
		}
	}
	l.releases = held.Releases()
	return l, nil
}

// whole returns an error if the ledger lacks a line that it had when the report was written which this run would
// replace: lines that are missing at the end, or all of them, break no chain.
func (l *Ledger) whole(ctx context.Context) error {
	path := l.config.Report.JSON
	if path == "" {
		return nil
	}
	text, err := publish.ReadFile(ctx, path)
	if err != nil {
		return nil // whatever is in the way of the report is said where it is written
	}
	var before struct {
		Withheld string `json:"withheld"`
		Ledger   *struct {
			Entry    int64  `json:"entry"`
			Previous string `json:"previous"`
		} `json:"ledger"`
	}
	if json.Unmarshal(text, &before) != nil || before.Ledger == nil {
		return nil
	}
	previous, there := l.held.Line(before.Ledger.Entry - 1)
	_, entered := l.held.Line(before.Ledger.Entry)
	if !there || previous != before.Ledger.Previous || before.Withheld == "" && !entered {
		return fmt.Errorf(
			"%s: lacks releases that it had when %s was written: restore it, or remove that report if it is of another ledger",
			l.held.Path(), path)
	}
	return nil
}

// Look reads the ledger of a configuration without holding it, to judge a release that is not published: nothing is
// entered.
func Look(ctx context.Context, p *config.Pipeline, key keystream.Key, log zerolog.Logger) (*Ledger, error) {
	return look(ctx, p, key, log, ledger.Look)
}

// look is Look by a function that reads a ledger.
func look(ctx context.Context, p *config.Pipeline, key keystream.Key, log zerolog.Logger,
	read func(ctx context.Context, at string) (*ledger.Ledger, error)) (*Ledger, error) {
	held, err := read(ctx, p.Ledger)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	l := &Ledger{held: held, releases: held.Releases(), config: p, key: key, log: log}
	if err := l.whole(ctx); err != nil {
		return nil, l.failed(err)
	}
	return l, nil
}

// For returns what was looked at for another configuration with the same ledger and key; nil if nothing was.
func (l *Ledger) For(p *config.Pipeline) *Ledger {
	if l == nil {
		return nil
	}
	return &Ledger{held: l.held, releases: l.releases, config: p, key: l.key, log: l.log}
}

// Connect checks that a run could use the ledger of a configuration, and leaves nothing behind.
func Connect(ctx context.Context, p *config.Pipeline, key keystream.Key, log zerolog.Logger) error {
	if p.Ledger == "" {
		return nil
	}
	if _, err := Look(ctx, p, key, log); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := ledger.Probe(ctx, p.Ledger); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

func (l *Ledger) failed(err error) error {
	_ = l.held.Close() // what failed before is said
	return fmt.Errorf("ledger: %w", err)
}

// lies reports whether all files of a release still lie complete under their temporary names, so that none of them
// was published.
func lies(ctx context.Context, files []ledger.Published) bool {
	for _, f := range files {
		if f.Path == "" || objectpath.Is(f.Path) {
			return false
		}
		c, err := publish.ContentOf(ctx, publish.TempName(f.Path))
		if err != nil || c.Folder != f.Folder || c.SHA256() != f.SHA256 {
			return false
		}
		// Folders change their places: what lies under the temporary name may be an equal release before this one.
		if there, err := publish.ContentOf(ctx, f.Path); err == nil && there.SHA256() == f.SHA256 || err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return len(files) > 0
}

// stands reports whether all files of a release are there under their names.
func stands(ctx context.Context, files []ledger.Published) bool {
	return len(files) > 0 && !slices.ContainsFunc(files, func(f ledger.Published) bool {
		if f.Path == "" || objectpath.Is(f.Path) {
			return true
		}
		c, err := publish.ContentOf(ctx, f.Path)
		return err != nil || c.Folder != f.Folder || c.SHA256() != f.SHA256
	})
}

// Tell tells a plan of the earlier releases.
func (l *Ledger) Tell(pl *pipeline.Plan) {
	if l == nil {
		return
	}
	var list []*pipeline.EarlierRelease
	not := ""
	for i := range l.releases {
		r := &l.releases[i]
		e, err := l.earlier(i)
		if err == nil && !l.project && !e.Repeats {
			err = ofProject(r.Release)
		}
		if err != nil && not == "" {
			not = fmt.Sprintf("release %d of the ledger (%s) cannot be told from today's records: %s", r.Number, r.Release.Name,
				oneLine(err))
		}
		list = append(list, e)
	}
	l.told, l.today = list, pl
	if beside := l.judgeTables(pl); not == "" {
		not = beside
	}
	pl.WithLedger(list, not, func(read, released, unidentified int64) string {
		// Shards know of tables once the ledger is held.
		return cmp.Or(l.besideTables(released, unidentified), l.doubts(read, unidentified))
	})
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// earlier returns what a plan is to know of the release with an index, also with an error.
func (l *Ledger) earlier(index int) (*pipeline.EarlierRelease, error) {
	of := &l.releases[index]
	r := of.Release
	e := &pipeline.EarlierRelease{Number: of.Number, Name: r.Name, Columns: earlierColumns(r), Shuffled: r.Shuffled,
		Key: l.key.Apart("ledger, release " + of.SHA256)}
	for _, f := range r.Files {
		if now, err := sumOf(f.Path); err != nil || now != f.SHA256 {
			return e, fmt.Errorf("the table of a mask, %s, is not there any more, or another one", f.Path)
		}
	}
	if err := l.sameUnits(r); err != nil {
		return e, err
	}
	before, err := l.config.Before(fmt.Sprintf("release %d of the ledger", of.Number), r.Releasing)
	if err != nil {
		return e, err
	}
	amounts := &assess.Profile{}
	for _, c := range r.Columns {
		if c.Masked {
			amounts.Columns = append(amounts.Columns,
				assess.ColumnProfile{Name: c.Name, Mean: float64(c.Mean), SD: float64(c.SD), Decimals: c.Decimals})
		}
	}
	e.Config, e.Amounts = before, amounts
	switch same := sameDraws(r, before); {
	case same && r.KeyID == l.key.ID():
		e.Key = l.key
		e.Repeats = bytes.Equal(r.Releasing, l.config.Releasing()) && len(transform.NeedsSD(before.Masks)) == 0
	case same && l.sameRespondents(index): // as those of other releases under that key
		e.Key = l.key.Apart("ledger, key " + r.KeyID)
	}
	return e, nil
}

// sameDraws reports whether the draws of a release are those that its key gives the same value of the same respondent
// today. Draws by place are not, since a record may have moved, nor are those of masks that decide by other records,
// which may be other ones.
func sameDraws(r *ledger.Release, before *config.Pipeline) bool {
	return r.Draws == keystream.Version && len(before.Identity) > 0 && r.ByPlace == 0 && !decidesByOthers(before)
}

// decidesByOthers reports whether what some mask releases of a record depends on other records, or on parameters that
// follow from all of them.
func decidesByOthers(p *config.Pipeline) bool {
	return slices.ContainsFunc(p.Masks, func(m transform.Spec) bool {
		return transform.ScopeOf(m.Params) != transform.ScopeRecord || transform.NeedsValues(m.Params) != "" ||
			len(transform.NeedsCorrelations(m.Params)) > 0 ||
			transform.NeedsFrequencies(m.Params) != "" || transform.NeedsPeople(m.Params) != nil ||
			slices.ContainsFunc(m.Params.Masks(), func(name string) bool {
				fits, _ := transform.FitsData(p.Masks, name)
				return fits
			})
	})
}

// Add notes who is in a masked block.
func (l *Ledger) Add(b *microdata.Block) {
	if l != nil {
		l.sketcher.Add(b)
	}
}

// Describe enters into a report what is said of the earlier releases.
func (l *Ledger) Describe(rep *report.Report) {
	if l == nil || rep.Ledger == nil {
		return
	}
	if rep.Ledger.Entry, rep.Ledger.Previous = l.held.Next(); l.number != 0 { // entered by a commit that was killed
		rep.Ledger.Entry = l.number
		rep.Ledger.Previous, _ = l.held.Line(l.number - 1)
	}
	l.describeTables(rep)
	own := l.Sketch()
	for i := range rep.Ledger.Releases {
		r := &rep.Ledger.Releases[i]
		r.Share = assess.Float(math.NaN())
		for _, of := range l.releases {
			if of.Number == r.Number && of.Release.KeyID == rep.KeyID {
				r.Share = assess.Float(ledger.Share(own, of.Release.Sketch))
			}
		}
	}
}

// Enter enters the release of a report that is about to be published.
func (l *Ledger) Enter(rep *report.Report, pl *pipeline.Plan, content *publish.Content) error {
	if l == nil || l.number != 0 {
		return nil
	}
	r, err := l.entry(rep, pl)
	if err != nil {
		return err
	}
	return l.enter(r, content)
}

// entry is what the ledger is to have of the release of a report.
func (l *Ledger) entry(rep *report.Report, pl *pipeline.Plan) (*ledger.Release, error) {
	r := &ledger.Release{
		Name: rep.Name, Plan: l.plan, Version: rep.Version, KeyID: rep.KeyID, Draws: keystream.Version,
		ConfigSHA256: rep.ConfigSHA256,
		Releasing:    l.config.Releasing(), Rules: l.config.Judging(), Paths: l.config.Sink.Config.Paths(),
		Records: rep.Records.Released, Read: rep.Records.Read, ByPlace: rep.IdentifiedByPlace,
		Privacy: pl.Privacy(), Warnings: rep.Warnings, Sketch: l.Sketch(), Columns: columnsOf(rep, pl),
		Shuffled: l.config.Sink.Shuffled(),
	}
	var err error
	if r.Files, err = filesOf(l.config); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return r, nil
}

// enter enters a release with its content, which is nil if it is no files.
func (l *Ledger) enter(r *ledger.Release, content *publish.Content) error {
	if content != nil {
		r.Published = append(r.Published, publishedOf(content))
	}
	number, err := l.held.Enter(r)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	l.number = number
	return nil
}

func publishedOf(c *connectors.Content) ledger.Published {
	p := ledger.Published{Path: c.Path, Folder: c.Folder, SHA256: c.SHA256()}
	if p.Path != "" && !objectpath.Is(p.Path) {
		if abs, err := filepath.Abs(p.Path); err == nil {
			p.Path = abs
		}
	}
	return p
}

// columnsOf describes the released columns.
func columnsOf(rep *report.Report, pl *pipeline.Plan) (list []ledger.Column) {
	for _, out := range pl.Layout.Release {
		none := assess.Float(math.NaN())
		c := ledger.Column{
			Name: out.Field.Name, Type: microdata.TypeName(out.Field.Type), Masked: out.Masked, Decimals: -1, Mean: none,
			SD: none,
		}
		if of := pl.Config.Columns.Named(c.Name); of != nil {
			c.Role, c.Unit = string(of.Role), of.Unit
		}
		for _, known := range pl.Columns {
			if known.Name == c.Name {
				c.Decimals, c.Mean, c.SD = known.Decimals, assess.Float(known.Mean), assess.Float(known.SD)
			}
		}
		if i := slices.IndexFunc(rep.Columns, func(m assess.ColumnMeasures) bool { return m.Name == c.Name }); i >= 0 {
			moments := rep.Columns[i].Released
			c.Released = &moments
			if o := rep.Columns[i].Order; o != nil {
				tells := o.Departs && !o.Shuffled
				c.Ordered = &tells
			}
		}
		if shape, known := pl.Shapes()[c.Name]; known {
			c.Shape = &shape
		}
		list = append(list, c)
	}
	return list
}

// filesOf are the files of the tables of masks.
func filesOf(p *config.Pipeline) (list []ledger.File, err error) {
	for _, path := range p.MaskFiles() {
		sum, err := sumOf(path)
		if err != nil {
			return nil, err
		}
		list = append(list, ledger.File{Path: path, SHA256: sum})
	}
	return list, nil
}

func sumOf(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}

// Settle enters what became of the release, whose files account.Commit was to name with the given error. If that is
// not known, or cannot be entered, the release counts as published.
func (l *Ledger) Settle(named error) {
	if l == nil || l.number == 0 || l.settled {
		return
	}
	published := named == nil || account.Named(named)
	if !published && l.adopted && !l.held.Alone() {
		l.log.Warn().Int64("release", l.number).Msg(
			"another commit of the same shards may have published the release: in the ledger it counts as published")
		return
	}
	if perhaps := (*account.PublishedError)(nil); errors.As(named, &perhaps) {
		l.log.Warn().Int64("release",
			l.number).Msg("it is not known whether the release is published: in the ledger it counts as published")
		return
	}
	if err := l.held.Settle(l.number, published); err != nil {
		l.log.Warn().Err(err).Int64("release",
			l.number).Msg("the ledger does not say what became of this release, which therefore counts as published")
	}
	l.number = 0
}

// Close lets go of the ledger.
func (l *Ledger) Close() error {
	if l == nil {
		return nil
	}
	return l.held.Close()
}
