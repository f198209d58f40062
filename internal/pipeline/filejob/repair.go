package filejob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// Repair gives a report, and its public twin, the name that a run could not give it after the release had
// been published, or before it was killed. It returns the paths of what has got its name: none if report and release
// belong together already. A *DataError means that nothing is left that belongs to the release.
func Repair(ctx context.Context, reportPath string) (completed []string, err error) {
	if v, err := Verify(ctx, reportPath, ""); err == nil && v.Agree {
		return nil, nil
	}
	withheld := false
	fits := func(text []byte) error {
		id, err := ofRelease(ctx, reportPath, text)
		withheld = id.Withheld
		return err
	}
	found, err := publish.Recover(reportPath, publish.Confidential, fits)
	switch {
	case err == nil && !found:
		return nil, pipeline.DataErrorf("%s: no run has left this report complete without its name; the same run again, with the same key, gives the same release and its report", reportPath)
	case err != nil:
		return nil, err
	}
	completed = append(completed, reportPath)
	if public := config.PublicPath(reportPath); !withheld { // of what was withheld nothing is for the public
		twin, err := publish.Recover(public, publish.Public, func(text []byte) error {
			_, err := ofRelease(ctx, public, text)
			return err
		})
		if err != nil {
			return completed, err
		}
		if twin {
			completed = append(completed, public)
		}
	}
	return completed, nil
}

// ofRelease returns what a report says of its release, and an error if it is cut off or the release is another one.
func ofRelease(ctx context.Context, reportPath string, text []byte) (report.Identified, error) {
	id, err := report.ReadRelease(text)
	if page := filepath.Ext(reportPath) == ".html"; err == nil && page && !bytes.HasSuffix(bytes.TrimSpace(text), []byte("</html>")) {
		err = errors.New("the page is cut off")
	}
	if err != nil {
		return id, pipeline.DataErrorf("%s: what a run has left: %v", reportPath, err)
	}
	v, err := verifyIdentified(ctx, reportPath, "", id)
	if err != nil {
		return id, err
	}
	if !v.Agree {
		return id, fmt.Errorf("%s: what a run has left is of another release than there is: %s", reportPath, v.Words)
	}
	return id, nil
}
