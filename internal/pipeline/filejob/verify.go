package filejob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// complete finishes the sink and digests its files, while the release is measured: this mostly
// waits for the disk. wait returns the content of the files; stop cancels the work and waits for
// its end.
func (r *run) complete(ctx context.Context) (wait func() (*publish.Content, error), stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var content *publish.Content
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer bug.Guard()
		if err = r.sink.Finish(ctx); err == nil {
			content, err = connectors.ContentOf(ctx, r.sink)
		}
	}()
	wait = func() (*publish.Content, error) {
		<-done
		if err != nil {
			return nil, fmt.Errorf("sink: %w", err)
		}
		return content, nil
	}
	return wait, func() { cancel(); <-done }
}

// Verification is whether a report and a release belong together.
type Verification struct {
	Report  string // the path
	Release string // the path of the compared release
	Agree   bool
	// Words is the result for people, one sentence.
	Words string
}

// Verify compares a report, in any of its forms, with the release at the path that it names, or
// at the path at if that is not empty. A *DataError means that there was nothing to compare.
func Verify(ctx context.Context, reportPath, at string) (*Verification, error) {
	text, err := publish.ReadFile(ctx, reportPath)
	if err != nil {
		return nil, pipeline.DataErrorf("the report cannot be read: %v", err)
	}
	id, err := report.ReadRelease(text)
	if err != nil {
		return nil, pipeline.DataErrorf("%s: %v", reportPath, err)
	}
	return verifyIdentified(ctx, reportPath, at, id)
}

// verifyIdentified is Verify of the release that a report names.
func verifyIdentified(ctx context.Context, reportPath, at string, id report.Identified) (*Verification, error) {
	want := id.Release
	switch {
	case want == nil && id.Withheld:
		return nil, pipeline.DataErrorf("%s: is about a release that was withheld, and does not say which file it was",
			reportPath)
	case want == nil:
		return nil,
			pipeline.DataErrorf(
				"%s: does not say which release it is about: it went to topics, or the program that wrote the report was older",
				reportPath)
	case len(want.Copies) > 0:
		return verifyCopies(ctx, reportPath, at, id)
	case at == "" && want.Path == "":
		return nil,
			pipeline.DataErrorf(
				"%s: the release had no name (standard output, a device or a pipe); name the file with --release", reportPath)
	case at == "":
		at = publish.At(reportPath, want.Path)
	}
	return verifyOne(ctx, reportPath, at, id)
}

// verifyOne compares what a report says about one release with the release at a path.
func verifyOne(ctx context.Context, reportPath, at string, id report.Identified) (*Verification, error) {
	want := id.Release
	v := &Verification{Report: reportPath, Release: at}
	got, err := publish.ContentOf(ctx, at)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, pipeline.DataErrorf("the release cannot be read: %v", err)
	}
	same := !missing && got.SHA256() == want.SHA256 && got.Folder == want.Folder
	switch {
	case id.Withheld && missing:
		v.Agree, v.Words = true, "the release was withheld, and nothing is there"
	case id.Withheld && same:
		v.Words = "the release was withheld, and it is there all the same"
	case id.Withheld:
		v.Words = "the release was withheld: what is there is another one, which this report is not about"
	case missing:
		v.Words = "the release is not there"
	case same:
		v.Agree, v.Words = true, fmt.Sprintf("they belong together: %s", whole(want))
	default:
		v.Words = "they do not belong together: " + difference(want, got)
	}
	return v, nil
}

func whole(r *report.Release) string {
	if r.Folder {
		return fmt.Sprintf("a folder of %d bytes, sha256 %s", r.Bytes, r.SHA256)
	}
	return fmt.Sprintf("%d bytes, sha256 %s", r.Bytes, r.SHA256)
}

// difference returns how a release differs from its report. Names in a folder may be
// values of a partition key, so files are counted and not named.
func difference(want *report.Release, got *publish.Content) string {
	switch {
	case want.Folder != got.Folder && want.Folder:
		return "the report is about a folder, and there is a file"
	case want.Folder != got.Folder:
		return "the report is about a file, and there is a folder"
	case !want.Folder || len(want.Files) == 0:
		return fmt.Sprintf("the report is about %d bytes, sha256 %s, and there are %d, sha256 %s", want.Bytes, want.SHA256,
			got.Bytes(), got.SHA256())
	}
	there := map[string]string{}
	for _, f := range got.Files {
		there[f.Name] = f.SHA256
	}
	missing, changed := 0, 0
	for _, f := range want.Files {
		switch digest, ok := there[f.Name]; {
		case !ok:
			missing++
		case digest != f.SHA256:
			changed++
		}
	}
	return fmt.Sprintf(
		"of the %d files that the report is about %d are missing and %d are others; %d are there that it does not know",
		len(want.Files), missing, changed, len(got.Files)-len(want.Files)+missing)
}
