package project

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// projectReport is a file that says how the project ended.
type projectReport struct {
	*publish.File
	public bool // it is written where all tables are published
	text   func(*Report) ([]byte, error)
}

// createReports opens the project's reports. The JSON gets its name last: where it is, all is.
func (r *run) createReports() error {
	asked := r.config.Report
	for _, one := range []struct {
		path         string
		public, text func(*Report) ([]byte, error)
	}{
		{asked.HTML, r.config.publicPage, r.config.page},
		{asked.JSON, func(rep *Report) ([]byte, error) { return indented(r.config.public(rep)) },
			func(rep *Report) ([]byte, error) { return indented(rep) }},
	} {
		if one.path == "" {
			continue
		}
		public, err := publish.Create(config.PublicPath(one.path), publish.Public)
		if err != nil {
			return fmt.Errorf("report: %w", err)
		}
		r.reports = append(r.reports, projectReport{public, true, one.public})
		own, err := publish.Create(one.path, publish.Confidential)
		if err != nil {
			return fmt.Errorf("report: %w", err)
		}
		r.reports = append(r.reports, projectReport{own, false, one.text})
	}
	return nil
}

// complete completes all reports, that of the project last.
func (r *run) complete(rep *Report) error {
	for _, m := range r.order {
		if err := m.part.Reports(); err != nil {
			return fmt.Errorf("table %s: report: %w", strconv.Quote(m.table.Name), err)
		}
	}
	if err := r.fill(rep); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// fill completes and syncs the project's reports under their temporary names.
func (r *run) fill(rep *Report) error {
	for _, report := range r.reports {
		if report.public && !rep.Gate.Passed {
			continue
		}
		rep.Folder = ""
		if folder, err := filepath.Rel(filepath.Dir(report.Path()), r.config.folder()); err == nil && rep.Gate.Passed &&
			r.config.folder() != "" {
			rep.Folder = filepath.ToSlash(folder)
		}
		text, err := report.text(rep)
		if err == nil {
			_, err = report.Write(text)
		}
		if err == nil {
			err = report.Stage()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
