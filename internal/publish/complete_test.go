package publish_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// A bucket that does not exist, and a right that is missing, are found by Stage, before anything has its
// name: of small objects too, and of empty ones.
func TestStagingFindsWhatIsMissing(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	server := serve(t)
	for _, content := range []string{"", "small"} {
		stage := func(path string) (*publish.File, error) {
			t.Helper()
			f, err := publish.Create(path, publish.Confidential)
			if err == nil {
				_, err = f.Write([]byte(content))
			}
			if err != nil {
				t.Fatal(err)
			}
			return f, f.Stage()
		}
		f, err := stage("s3://missing/r.json")
		if err == nil || !strings.Contains(err.Error(), "s3://missing/r.json") {
			t.Errorf("%q: %v", content, err)
		}
		_ = f.Abort()
		server.Failing(func(r *http.Request) *objecttest.Fault {
			if r.Method == http.MethodPost || r.Method == http.MethodPut {
				return &objecttest.Fault{Status: http.StatusForbidden, Code: "AccessDenied"}
			}
			return nil
		})
		if f, err = stage("s3://bucket/r.json"); err == nil {
			t.Errorf("%q: without a right it is staged", content)
		}
		_ = f.Abort()
		server.Failing(nil)
		if f, err = stage("s3://bucket/r.json"); err != nil || len(server.Keys("bucket")) != 0 {
			t.Errorf("%q: %v, %v", content, err, server.Keys("bucket"))
		}
		if err := f.Complete(); err != nil || string(server.Get("bucket", "r.json").Data) != content ||
			server.Uploads() != 0 {
			t.Errorf("%q: %v, %d uploads are left", content, err, server.Uploads())
		}
		server.Remove("bucket", "r.json")
	}
}

// A name that cannot be had at first is tried again.
func TestCompletingIsTriedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	f, err := publish.Create(path, publish.Confidential)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Stage(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		eventually.Elapse(t, 100*time.Millisecond)
		done <- os.Remove(path)
	}()
	if err := f.Complete(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		t.Errorf("%v, %v", info, err)
	}
}
