package gs_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	_ "github.com/sdlfilter/sdlfilter/internal/objects/gs"

	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

const name = "release"

// connect returns the bucket of the server in the process.
func connect(t *testing.T) (*objecttest.Server, objects.Bucket) {
	t.Helper()
	server := objecttest.NewGS(t, name)
	objecttest.UseGS(t, server.URL)
	return server, open(t)
}

func open(t *testing.T) objects.Bucket {
	t.Helper()
	return objecttest.Open(t, "gs", name)
}

// TestContract tests the protocol against the server in the process and, if the environment names
// one, against an external server.
func TestContract(t *testing.T) {
	objecttest.RunOn(t, "SDLFILTER_TEST_GS", func(t *testing.T) objecttest.Contract {
		_, b := connect(t)
		return objecttest.Contract{Bucket: b}
	}, func(t *testing.T, host string) objecttest.Contract {
		t.Setenv("STORAGE_EMULATOR_HOST", objecttest.Mended(t, host))
		objects.Forget()
		t.Cleanup(objects.Forget)
		return objecttest.Contract{Bucket: open(t), GivesNothingUp: true}
	})
}

// kind returns the purpose of a request.
func kind(r *http.Request) string {
	q := r.URL.Query()
	switch {
	case r.URL.Path == "/token":
		return "token"
	case q.Has("upload_id") && r.Method == http.MethodDelete:
		return "abort"
	case r.Header.Get("Content-Range") == "bytes */*":
		return "question"
	case q.Has("upload_id") && strings.HasSuffix(r.Header.Get("Content-Range"), "/*"):
		return "part"
	case q.Has("upload_id"):
		return "complete"
	case q.Get("uploadType") == "resumable":
		return "begin"
	case q.Get("uploadType") == "multipart":
		return "put"
	case r.Method == http.MethodDelete:
		return "delete"
	case q.Get("alt") == "media":
		return "get"
	case strings.HasSuffix(r.URL.Path, "/o"):
		return "list"
	}
	return "head"
}

// TestFaults lets each kind of request fail once, with each temporary error, while an object of
// several parts is written and read: the caller notices nothing.
func TestFaults(t *testing.T) {
	racetest.Further(t)
	data := objecttest.Noise(17<<20 + 12345)
	faults := map[string]objecttest.Fault{
		"503": {Status: 503, Code: "backendError"}, "500": {Status: 500, Code: "internalError"},
		"429":     {Status: 429, Code: "rateLimitExceeded"},
		"refused": {Cut: -1}, "lost": {Lose: true}, "cut": {Cut: 10}, "some": {Take: 5<<20 + 7}, "silent": {Hush: 10},
		"deaf": {Deaf: 100},
	}
	for i, which := range []string{"token", "begin", "part", "complete", "head", "get", "put", "list", "delete",
		"question"} {
		for k, how := range []string{"503", "500", "429", "refused", "deaf", "lost", "some", "cut", "silent"} {
			f := faults[how]
			if testing.Short() && (i+k)%3 != 0 {
				continue // each request with three faults, and each fault
			}
			// A request without a body of known length is never stored or accepted in part.
			if how == "some" && which != "part" && which != "complete" || how == "deaf" && which != "part" {
				continue
			}
			t.Run(which+" "+how, func(t *testing.T) {
				if how == "silent" || how == "deaf" {
					objecttest.Impatient(t)
				}
				server, b := connect(t)
				var failed, parts atomic.Int64
				server.Failing(func(r *http.Request) *objecttest.Fault {
					k := kind(r)
					if which == "question" && k == "part" && parts.Add(1) == 2 {
						return &objecttest.Fault{Lose: true}
					}
					if k != which || failed.Add(1) > 1 {
						return nil
					}
					return &f
				})
				whole := data
				if which == "put" {
					whole = data[:1000]
				}
				objecttest.WriteAndRead(t, b, whole)
				if err := b.List(t.Context(), "", func(objects.Info) error { return nil }); err != nil {
					t.Errorf("list: %v", err)
				}
				if err := b.Delete(t.Context(), "k"); err != nil {
					t.Errorf("delete: %v", err)
				}
				if failed.Load() == 0 {
					t.Error("nothing has failed")
				}
				if n := server.Uploads(); n > 0 && which != "begin" {
					t.Errorf("%d uploads are left", n)
				}
			})
		}
	}
}

// TestErrors checks the texts of permanent errors: they contain nothing of the credentials, the
// addresses or the server's own text.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault objecttest.Fault
		want  error
		words string
	}{
		{"busy", objecttest.Fault{Status: 503, Code: "backendError"}, nil, "too busy"},
		{"slow", objecttest.Fault{Status: 429, Code: "rateLimitExceeded"}, nil, "too busy"},
		{"quota", objecttest.Fault{Status: 403, Code: "rateLimitExceeded"}, nil, "too busy"},
		{"expired", objecttest.Fault{Status: 401, Code: "authError"}, objects.ErrDenied,
			"have expired (status 401, authError)"},
		{"denied", objecttest.Fault{Status: 403, Code: "forbidden"}, objects.ErrDenied,
			"may not do this (status 403, forbidden)"},
		{"no bucket", objecttest.Fault{Status: 404, Code: "notFound"}, objects.ErrNoBucket, "no such bucket"},
		{"condition", objecttest.Fault{Status: 412, Code: "conditionNotMet"}, objects.ErrCondition, "not what was there"},
		{"nonsense", objecttest.Fault{Status: 418, Code: objecttest.SecretKey}, nil, "(status 418)"},
		{"elsewhere", objecttest.Fault{Status: 302, Code: "x"}, nil, "(status 302, x)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, b := connect(t)
			up, err := b.Begin(t.Context(), "k", "m", objects.Condition{})
			if err != nil {
				t.Fatal(err)
			}
			objects.Forget()
			b = open(t)
			server.Failing(func(r *http.Request) *objecttest.Fault {
				if kind(r) == "token" {
					return nil
				}
				return &c.fault
			})
			errs := map[string]error{"list": b.List(t.Context(), "", func(objects.Info) error { return nil })}
			_, errs["head"] = b.Head(t.Context(), "k")
			_, errs["get"] = b.Get(t.Context(), "k", "1", 0, 1)
			errs["put"] = objects.PutWhole(t.Context(), b, "k", nil, objects.Condition{})
			_, errs["begin"] = b.Begin(t.Context(), "k", "m", objects.Condition{})
			part, complete := up.Part(t.Context(), 1, make([]byte, 1<<20)), up.Complete(t.Context(), objects.Condition{})
			if c.name != "no bucket" {
				errs["part"], errs["complete"] = part, complete
			} else if !errors.Is(part, objects.ErrNoUpload) || !errors.Is(complete, objects.ErrNoUpload) {
				t.Errorf("of an upload that is gone: %v, %v", part, complete)
			}
			for what, err := range errs {
				objecttest.Refused(t, what, err, c.want, c.words, server.URL, "upload_id", "session-")
			}
		})
	}
}

// TestExpire lets the credentials expire between two requests.
func TestExpire(t *testing.T) {
	server, b := connect(t)
	objecttest.Put(t, b, "k", "text")
	server.Expire()
	if _, err := b.Head(t.Context(), "k"); !errors.Is(err, objects.ErrDenied) ||
		!strings.Contains(err.Error(), "have expired") {
		t.Errorf("got %v", err)
	}
	objects.Forget()
	if _, err := open(t).Head(t.Context(), "k"); !errors.Is(err, objects.ErrDenied) ||
		!strings.Contains(err.Error(), "could not be renewed") || strings.Contains(err.Error(), objecttest.SecretKey) {
		t.Errorf("of credentials that give no token: %v", err)
	}
}

// TestAbsent distinguishes missing objects from missing buckets.
func TestAbsent(t *testing.T) {
	server, b := connect(t)
	if _, err := b.Head(t.Context(), "none"); !errors.Is(err, objects.ErrAbsent) {
		t.Errorf("an object: %v", err)
	}
	if n := len(server.Requests()); n != 3 {
		t.Errorf("%d requests: %q", n, server.Requests())
	}
	if _, err := b.Head(t.Context(), "none"); !errors.Is(err, objects.ErrAbsent) || len(server.Requests()) != 4 {
		t.Errorf("an object, again: %v, %q", err, server.Requests())
	}
	if err := b.Delete(t.Context(), "none"); err != nil {
		t.Errorf("delete: %v", err)
	}
	other, err := objects.Open(t.Context(), objectpath.Name{Scheme: "gs", Bucket: "another"})
	if err != nil {
		t.Fatal(err)
	}
	_, head := other.Head(t.Context(), "k")
	_, begin := other.Begin(t.Context(), "k", "m", objects.Condition{})
	for i, err := range []error{head, begin, other.Delete(t.Context(), "k"),
		objects.PutWhole(t.Context(), other, "k", nil, objects.Condition{})} {
		if !errors.Is(err, objects.ErrNoBucket) {
			t.Errorf("a bucket, request %d: %v", i, err)
		}
	}
}

// TestWrongGeneration: an answer with another state of the object, or with other bytes of it, is
// refused.
func TestWrongGeneration(t *testing.T) {
	server, b := connect(t)
	objecttest.Put(t, b, "k", "text")
	now := server.Get(name, "k").ETag
	if body, err := b.Get(t.Context(), "k", now, 1, 3); err != nil {
		t.Error(err)
	} else {
		body.Close()
	}
	if _, err := b.Get(t.Context(), "k", "1", 0, 4); !errors.Is(err, objects.ErrCondition) {
		t.Errorf("another generation: %v", err)
	}
	server.Failing(func(*http.Request) *objecttest.Fault { return &objecttest.Fault{ETag: "1"} })
	if _, err := b.Get(t.Context(), "k", now, 0, 4); !errors.Is(err, objects.ErrCondition) {
		t.Errorf("an answer of another generation: %v", err)
	}
	for what, header := range map[string]http.Header{
		"compressed": {"Content-Encoding": {"gzip"}, "X-Goog-Stored-Content-Encoding": {"identity"},
			"Content-Range": {"bytes 1-4/5"}},
		"other place": {"Content-Range": {"bytes 0-3/5"}},
		"too long":    {"Content-Range": {"bytes 1-4/5"}, "Content-Length": {"5"}},
		"whole":       {},
	} {
		odd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Goog-Generation", "7")
			w.Header().Set("Content-Length", "4")
			for k, v := range header {
				w.Header()[k] = v
			}
			if header.Get("Content-Range") != "" {
				w.WriteHeader(http.StatusPartialContent)
			}
			w.Write([]byte("text"))
		}))
		t.Setenv("STORAGE_EMULATOR_HOST", strings.TrimPrefix(odd.URL, "http://"))
		objects.Forget()
		if _, err := open(t).Get(t.Context(), "k", "7", 1, 4); err == nil || errors.Is(err, objects.ErrCondition) {
			t.Errorf("%s: got %v", what, err)
		}
		odd.Close()
	}
}

// TestPartsInAnyOrder uploads parts concurrently, the last one first: the object follows their
// numbers.
func TestPartsInAnyOrder(t *testing.T) {
	server, b := connect(t)
	data := objecttest.Noise(1_900_000)
	up, err := b.Begin(t.Context(), "k", "m", objects.Condition{Absent: true})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	const size = 300_000 // not a multiple of the server's unit
	for n := (len(data) + size - 1) / size; n > 0; n-- {
		all.Go(func() {
			if err := up.Part(t.Context(), n, data[(n-1)*size:min(n*size, len(data))]); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := up.Part(t.Context(), 2, data[size:2*size]); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := up.Complete(t.Context(), objects.Condition{ETag: "1"}); err == nil {
		t.Error("it is completed with another condition")
	}
	if err := up.Complete(t.Context(), objects.Condition{Absent: true}); err != nil {
		t.Fatal(err)
	}
	if o := server.Get(name, "k"); o == nil || !bytes.Equal(o.Data, data) {
		t.Error("other bytes are there")
	}
}

// TestPartThatFails: parts that wait for a failing part do not wait forever.
func TestPartThatFails(t *testing.T) {
	server, b := connect(t)
	up, err := b.Begin(t.Context(), "k", "m", objects.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	later := make(chan error, 1)
	go func() { later <- up.Part(t.Context(), 2, make([]byte, 1<<20)) }()
	server.Failing(func(*http.Request) *objecttest.Fault { return &objecttest.Fault{Status: 403, Code: "forbidden"} })
	if err := up.Part(t.Context(), 1, make([]byte, 1<<20)); !errors.Is(err, objects.ErrDenied) {
		t.Errorf("got %v", err)
	}
	if err := <-later; !errors.Is(err, objects.ErrDenied) {
		t.Errorf("the part after it: %v", err)
	}
	if _, err := up.Token(); err == nil {
		t.Error("an upload that lacks parts is left to others")
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	server, b := connect(t)
	objecttest.AbortLeavesNothing(t, server, b, name)
}

// TestEncryption: the server receives the key for encryption, for whole objects and for parts.
func TestEncryption(t *testing.T) {
	const key = "projects/p/locations/eu/keyRings/r/cryptoKeys/k"
	server, _ := connect(t)
	t.Setenv(objects.GSKMSVariable, key)
	objects.Forget()
	b := open(t)
	for _, size := range []int{10, 17 << 20} {
		if err := objecttest.Write(t, b, fmt.Sprint(size), objecttest.Noise(size)).Commit(); err != nil {
			t.Fatal(err)
		}
		if got := server.Get(name, fmt.Sprint(size)).Header.Get("Kms-Key-Name"); got != key {
			t.Errorf("%d bytes: encrypted by %q", size, got)
		}
	}
	t.Setenv(objects.GSKMSVariable, "a-key")
	objects.Forget()
	if _, err := objects.Open(t.Context(), objectpath.Name{Scheme: "gs", Bucket: name}); err == nil ||
		!strings.Contains(err.Error(), objects.GSKMSVariable+": must be projects/") {
		t.Errorf("got %v", err)
	}
}

// TestEnvironment checks the errors for unusable environments, and that no token is sent to an
// address that anybody can listen to.
func TestEnvironment(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`{"type": "`+objecttest.SecretKey), 0o600); err != nil {
		t.Fatal(err)
	}
	good := objecttest.GSEnvironment(t, "http://127.0.0.1:1", objecttest.SecretKey)["GOOGLE_APPLICATION_CREDENTIALS"]
	for _, c := range []struct {
		emulator, endpoint, file, words string
	}{
		{"", "", broken + "-none", "no credentials were found"},
		{"", "", broken, "no credentials were found"},
		{"ftp://host", "", good, "STORAGE_EMULATOR_HOST gives no address"},
		{"http://a:" + objecttest.SecretKey + "@host", "", good, "STORAGE_EMULATOR_HOST gives no address"},
		{"", "https://host/?key=" + objecttest.SecretKey, good, "SDLFILTER_GS_ENDPOINT gives no address"},
		{"", "storage.example", good, "SDLFILTER_GS_ENDPOINT gives no address"},
		{"", "http://storage.example", good, "SDLFILTER_GS_ENDPOINT must begin with https://"},
		{"", "http://10.0.0.1", good, "SDLFILTER_GS_ENDPOINT must begin with https://"},
		{"", "https://storage.example", good, ""},
		{"storage.example:80", "", broken, ""},
	} {
		t.Setenv("STORAGE_EMULATOR_HOST", c.emulator)
		t.Setenv(objects.GSEndpointVariable, c.endpoint)
		t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", c.file)
		objects.Forget()
		t.Cleanup(objects.Forget)
		_, err := objects.Open(t.Context(), objectpath.Name{Scheme: "gs", Bucket: name})
		if c.words == "" && err != nil || c.words != "" &&
			(err == nil || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), objecttest.SecretKey)) {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

// TestQuota: the billed project is that of the environment, or else that of the credentials.
func TestQuota(t *testing.T) {
	server, _ := connect(t)
	file := os.Getenv("GOOGLE_APPLICATION_CREDENTIALS")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte("{"), []byte(`{"quota_project_id": "of-the-file", `), 1),
		0o600); err != nil {
		t.Fatal(err)
	}
	var billed atomic.Value
	server.Failing(func(r *http.Request) *objecttest.Fault {
		if kind(r) == "list" {
			billed.Store(r.Header.Get("X-Goog-User-Project"))
		}
		return nil
	})
	for _, set := range []string{"", "of-the-environment"} {
		t.Setenv("GOOGLE_CLOUD_QUOTA_PROJECT", set)
		objects.Forget()
		if err := open(t).List(t.Context(), "", nil); err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{"": "of-the-file"}[set] + set; billed.Load() != want {
			t.Errorf("%q is billed, want %q", billed.Load(), want)
		}
	}
}
