package filejob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// copies is a run that makes several releases of the same data, each with its own draws. These
// are written one after another under temporary names and judged one by one; all or none are
// published.
type copies struct {
	config   *config.Pipeline // of all of them
	options  pipeline.Options
	source   connectors.Source
	runs     []*run // by copy
	results  []*report.Report
	contents []*publish.Content
	reports  account.Files
	schema   *microdata.Schema // of each release
	prepared func(*run)        // called with each copy before its first record; may be nil
}

func newCopies(p *config.Pipeline, o pipeline.Options, key keystream.Key, src connectors.Source,
	started time.Time) *copies {
	c := &copies{config: p, options: o, source: src}
	for number := 1; number <= p.Copies(); number++ {
		c.runs = append(c.runs, &run{config: p.OfCopy(number), whole: p, copy: number, options: o, key: key, source: src,
			streams: src.Streams(), started: started})
	}
	return c
}

func runCopies(ctx context.Context, p *config.Pipeline, o pipeline.Options, key keystream.Key, src connectors.Source,
	started time.Time) (*account.Result, error) {
	c := newCopies(p, o, key, src, started)
	result, err := c.release(ctx)
	if err != nil {
		return nil, account.AndAborted(err, c.abort)
	}
	return result, nil
}

// release makes all copies, and publishes or refuses all of them.
func (c *copies) release(ctx context.Context) (*account.Result, error) {
	if err := createReports(ctx, &c.reports, c.config.Report); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	for i, r := range c.runs {
		rep, content, err := c.written(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("copy %d: %w", i+1, err)
		}
		c.results, c.contents = append(c.results, rep), append(c.contents, content)
	}
	return c.publish(ctx, together(c.results))
}

// written makes one copy. It frees the masks of a copy before the next one, because a mask of
// all records holds their values.
func (c *copies) written(ctx context.Context, r *run) (*report.Report, *publish.Content, error) {
	if err := r.prepare(ctx); err != nil {
		return nil, nil, err
	}
	if c.prepared != nil {
		c.prepared(r)
	}
	rep, content, err := r.written(ctx)
	c.schema = r.masked.Plan.Layout.Released()
	r.masked = nil
	return rep, content, err
}

// path is the path of the releases, with {copy} in the place of the number.
func (c *copies) path() string { return c.config.Sink.Config.Paths()[0] }

// together returns the report on all copies: that of the first one, or of the first that was
// refused, with the verdict on all. A rule holds if it holds for every copy.
func together(found []*report.Report) *report.Report {
	rep := *found[0]
	for _, r := range found {
		if r.Withheld != "" {
			rep = *r
			break
		}
	}
	verdict := assess.Verdict{Passed: true}
	at := map[string]int{}
	for i, r := range found {
		verdict.Passed = verdict.Passed && r.Gate.Passed
		rep.Copies = append(rep.Copies, r.CopyOf(i+1))
		for _, rule := range r.Gate.Rules {
			if k, known := at[rule.Rule]; !known {
				at[rule.Rule] = len(verdict.Rules)
				verdict.Rules = append(verdict.Rules, rule)
			} else if verdict.Rules[k].Passed && !rule.Passed {
				verdict.Rules[k] = rule
			}
		}
		for _, warning := range r.Warnings {
			if i > 0 && !contains(found[:i], warning) {
				rep.Warnings = append(rep.Warnings, fmt.Sprintf("copy %d: %s", i+1, warning))
			}
		}
	}
	rep.Gate, rep.Withheld, rep.Finished = verdict, "", found[len(found)-1].Finished
	if !verdict.Passed {
		rep.Withheld = account.WithheldBecause(verdict)
	}
	return &rep
}

func contains(found []*report.Report, warning string) bool {
	for _, r := range found {
		for _, w := range r.Warnings {
			if w == warning {
				return true
			}
		}
	}
	return false
}

// publish gives all copies their names, or none, and the report last.
func (c *copies) publish(ctx context.Context, rep *report.Report) (*account.Result, error) {
	p := account.Publication{
		Released: rep.Gate.Passed, Log: c.options.Log, Name: c.name,
		Complete: account.Saying("report", func() error {
			return c.reports.WriteCopies(rep, c.path(), c.contents, c.config.Report.Publish)
		}),
		Unchanged: unchanged(c.source),
		Withhold: account.Saying("sink", func() error {
			for _, r := range c.runs {
				if err := r.sink.Abort(); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	for _, r := range c.runs {
		p.Paths = append(p.Paths, r.config.Sink.Config.Paths()...)
		p.Rest = append(p.Rest, account.Appears("quarantine", r.quarantine.file, false))
	}
	p.Rest = append(p.Rest, c.reports.Appear)
	files, err := p.Publish(ctx)
	if err != nil {
		return nil, err
	}
	return &account.Result{Report: rep, Files: files, Schema: c.schema}, nil
}

// name gives all copies their names, or none.
func (c *copies) name() (named error) {
	var paths []string
	for i, r := range c.runs {
		paths = append(paths, r.config.Sink.Config.Paths()...)
		err := account.Commit(fmt.Sprintf("sink: copy %d", i+1), r.sink, paths, &c.reports)
		if err != nil && !account.Named(err) {
			return c.takeBack(i, err)
		}
		named = errors.Join(named, err)
	}
	return named
}

// takeBack removes the copies before number i, which have their names already, because a later
// one cannot get its own, by err. Objects may have readers and stay: the error is then that of a release that is
// published in part.
func (c *copies) takeBack(i int, err error) error {
	var stay []string
	for _, r := range c.runs[:i] {
		for _, path := range r.config.Sink.Config.Paths() {
			if objectpath.Is(path) || os.RemoveAll(path) != nil {
				stay = append(stay, path)
			}
		}
	}
	if len(stay) == 0 {
		return err
	}
	return account.Partly(stay, err)
}

// abort removes everything that has no final name.
func (c *copies) abort() error {
	var errs []error
	for _, r := range c.runs {
		errs = append(errs, r.abort())
	}
	return errors.Join(append(errs, c.reports.Abort())...)
}

// verifyCopies compares a report with all releases that it describes or, if a path is given,
// with the one of that name.
func verifyCopies(ctx context.Context, reportPath, at string, id report.Identified) (*Verification, error) {
	all := &Verification{Report: reportPath, Release: at, Agree: true}
	if at == "" {
		all.Release = publish.At(reportPath, id.Release.Path)
	}
	var words []string
	for i := range id.Release.Copies {
		one := report.Identified{Release: &id.Release.Copies[i], Withheld: id.Withheld}
		path := publish.At(reportPath, one.Release.Path)
		if at != "" {
			if filepath.Base(at) != filepath.Base(path) {
				continue
			}
			path = at
		}
		v, err := verifyOne(ctx, reportPath, path, one)
		if err != nil {
			return nil, err
		}
		all.Agree = all.Agree && v.Agree
		words = append(words, fmt.Sprintf("copy %d: %s", i+1, v.Words))
	}
	if len(words) == 0 {
		return nil,
			pipeline.DataErrorf("the report is about %d copies, and none of them has the name of %s", len(id.Release.Copies), at)
	}
	all.Words = strings.Join(words, "; ")
	return all, nil
}
