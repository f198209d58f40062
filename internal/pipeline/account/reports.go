package account

import (
	"errors"
	"os"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/assess/report/workbook"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

// Files are the report's files: the confidential ones, and their public
// twins, which appear only with a release.
type Files struct {
	html, json, board, xlsx *publish.File
	publicHTML, publicJSON  *publish.File
	publicPaths             []string
	alternatives            []*rumap.Map
}

// Create opens the files that the configuration asks for, so that errors of their paths are
// found before the first record is written, and reads the map that the page shows beside the
// release.
func (f *Files) Create(c config.Report) error {
	if c.Map != "" {
		text, err := os.ReadFile(c.Map)
		if err != nil {
			return pipeline.DataErrorf("map: %v", err)
		}
		m, err := rumap.ReadJSON(text)
		if err != nil {
			return pipeline.DataErrorf("map: %s: %v", c.Map, err)
		}
		f.alternatives = []*rumap.Map{m}
	}
	open := func(path string, confidential, public **publish.File) (err error) {
		if path == "" {
			return nil
		}
		if *confidential, err = publish.Create(path, publish.Confidential); err != nil {
			return err
		}
		if device, err := publish.Device(path); device || err != nil {
			return err // a device has no public file beside it
		}
		f.publicPaths = append(f.publicPaths, config.PublicPath(path))
		*public, err = publish.Create(config.PublicPath(path), publish.Public)
		return err
	}
	if c.Board != "" {
		var err error
		if f.board, err = publish.Create(c.Board, publish.Confidential); err != nil {
			return err
		}
	}
	if c.XLSX != "" {
		var err error
		if f.xlsx, err = publish.Create(c.XLSX, publish.Confidential); err != nil {
			return err
		}
	}
	return errors.Join(open(c.HTML, &f.html, &f.publicHTML), open(c.JSON, &f.json, &f.publicJSON))
}

// Write completes and syncs every file under its temporary name. Each describes the release
// by its content, which is nil if the release is not written to files.
func (f *Files) Write(rep *report.Report, release *publish.Content, allowed []string) error {
	return f.write(rep, func(path string) *report.Release { return releaseOf(release, path) }, allowed)
}

// WriteCopies is Write for a report on several releases, in the order of their numbers; path
// has {copy} in place of the number.
func (f *Files) WriteCopies(rep *report.Report, path string, releases []*publish.Content, allowed []string) error {
	return f.write(rep, func(reportPath string) *report.Release {
		var copies []report.Release
		for _, c := range releases {
			if c == nil {
				return nil
			}
			copies = append(copies, *releaseOf(c, reportPath))
		}
		return report.ReleaseOfCopies(publish.FromFolderOf(reportPath, path), copies)
	}, allowed)
}

func (f *Files) write(rep *report.Report, release func(reportPath string) *report.Release, allowed []string) error {
	rep.Alternatives = f.alternatives
	for _, out := range []struct {
		file   *publish.File
		render func(r *report.Report, p *report.Public) ([]byte, error)
	}{
		{f.html, func(r *report.Report, _ *report.Public) ([]byte, error) { return r.HTML() }},
		{f.board, func(r *report.Report, _ *report.Public) ([]byte, error) { return r.Board() }},
		{f.xlsx, func(r *report.Report, _ *report.Public) ([]byte, error) { return workbook.Of(r) }},
		{f.publicHTML, func(_ *report.Report, p *report.Public) ([]byte, error) { return p.HTML() }},
		{f.publicJSON, func(_ *report.Report, p *report.Public) ([]byte, error) { return p.JSON() }},
		{f.json, func(r *report.Report, _ *report.Public) ([]byte, error) { return r.JSON() }},
	} {
		if out.file == nil {
			continue
		}
		rep.Release = release(out.file.Path())
		data, err := out.render(rep, rep.Public(allowed))
		if err != nil {
			return err
		}
		if _, err := out.file.Write(data); err != nil {
			return err
		}
		if err := out.file.Stage(); err != nil {
			return err
		}
		if err := f.leaveReceipt(out.file, rep); err != nil {
			return err
		}
	}
	return nil
}

// leaveReceipt lets filejob.Repair complete a report that is an object. Of what is withheld nothing is for the
// public, and a release without content is found by nobody.
func (f *Files) leaveReceipt(file *publish.File, rep *report.Report) error {
	public := file == f.publicHTML || file == f.publicJSON
	if rep.Release == nil || public && !rep.Gate.Passed {
		return nil
	}
	note, err := report.Identified{Release: rep.Release, Withheld: rep.Withheld != ""}.Note()
	if err == nil {
		file.Receipt(note)
	}
	return err
}

// Commit gives the files their final names, the JSON report last, and returns these names. If there is
// a release, a file that cannot get its name does not keep the others from theirs (but see Ends), and stays under its
// temporary name for filejob.Repair. Without a release the new public files are removed; those of an earlier release
// stay.
func (f *Files) Commit(released bool) (paths []string, err error) {
	if !released {
		if err := errors.Join(abortAll(f.publicHTML, f.publicJSON)); err != nil {
			return nil, err
		}
		f.publicHTML, f.publicJSON = nil, nil
	}
	var errs []error
	var complete []*publish.File
	defer func() {
		for _, file := range complete {
			file.Forget()
		}
	}()
	for _, file := range []*publish.File{f.publicHTML, f.publicJSON, f.board, f.xlsx, f.html, f.json} {
		if file == nil {
			continue
		}
		err := file.Complete()
		if err == nil {
			complete = append(complete, file)
		}
		if err == nil || Named(err) {
			paths = append(paths, file.Path())
		}
		if errs = append(errs, err); Ends(err, released) {
			break
		}
		if err != nil && !Named(err) && released {
			_ = file.Leave() // why it has no name is said
		}
	}
	return paths, errors.Join(errs...)
}

// Leave keeps the complete files under their temporary names, for filejob.Repair: it is not known whether
// their release is there.
func (f *Files) Leave() error {
	var errs []error
	for _, file := range []*publish.File{f.publicHTML, f.publicJSON, f.board, f.xlsx, f.html, f.json} {
		if file != nil {
			errs = append(errs, file.Leave())
		}
	}
	return errors.Join(errs...)
}

// Abort removes the files that have no final name yet.
func (f *Files) Abort() error {
	return abortAll(f.board, f.xlsx, f.html, f.json, f.publicHTML, f.publicJSON)
}

func abortAll(files ...*publish.File) error {
	var errs []error
	for _, file := range files {
		if file != nil {
			errs = append(errs, file.Abort())
		}
	}
	return errors.Join(errs...)
}

// releaseOf returns what a report says about the release. Its path is relative to the
// report's folder, so that both can be moved together.
func releaseOf(c *publish.Content, reportPath string) *report.Release {
	if c == nil {
		return nil
	}
	r := &report.Release{Folder: c.Folder, Bytes: c.Bytes(), SHA256: c.SHA256()}
	if c.Path != "" {
		r.Path = publish.FromFolderOf(reportPath, c.Path)
	}
	if c.Folder {
		for _, f := range c.Files {
			r.Files = append(r.Files, report.ReleaseFile{Name: f.Name, Bytes: f.Bytes, SHA256: f.SHA256})
		}
	}
	return r
}
