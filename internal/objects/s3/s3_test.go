package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	_ "github.com/sdlfilter/sdlfilter/internal/objects/s3"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

const bucketName = "release"

// connect returns the bucket of the server in the process.
func connect(t *testing.T) (*objecttest.Server, objects.Bucket) {
	t.Helper()
	server := objecttest.New(t, bucketName)
	objecttest.Use(t, server.URL, objecttest.AccessKey, objecttest.SecretKey)
	return server, open(t)
}

func open(t *testing.T) objects.Bucket {
	t.Helper()
	return objecttest.Open(t, "s3", bucketName)
}

// TestContract tests the protocol against the server in the process and, if the environment names
// one, against an external server.
func TestContract(t *testing.T) {
	objecttest.RunOn(t, "SDLFILTER_TEST_S3", func(t *testing.T) objecttest.Contract {
		_, b := connect(t)
		return objecttest.Contract{Bucket: b}
	}, func(t *testing.T, _ string) objecttest.Contract {
		url, access, secret := objecttest.Real()
		objecttest.Use(t, url, access, secret)
		return objecttest.Contract{Bucket: open(t), CompletesOver: objecttest.CompletesOver()}
	})
}

// TestReaderReadsAnything reads concurrently in every way, announced and not, and compares each
// byte with the data.
func TestReaderReadsAnything(t *testing.T) {
	_, b := connect(t)
	data := objecttest.Noise(9_000_001)
	if err := objects.PutWhole(t.Context(), b, "k", data, objects.Condition{}); err != nil {
		t.Fatal(err)
	}
	info, err := b.Head(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	r := objects.NewReader(t.Context(), b, info)
	defer r.Close()
	var all sync.WaitGroup
	for i := range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			rng := rand.New(rand.NewPCG(uint64(i), 3))
			for range 60 {
				if i == 0 {
					from := rng.Int64N(info.Size)
					r.Want(objects.Extent{From: from, To: from + rng.Int64N(6_000_000)}, objects.Extent{From: -5, To: 1 << 40})
				}
				p := make([]byte, rng.IntN(700_000))
				off := rng.Int64N(info.Size + 10)
				n, err := r.ReadAt(p, off)
				want := data[min(off, info.Size):min(off+int64(len(p)), info.Size)]
				if n != len(want) || !bytes.Equal(p[:n], want) || (err == io.EOF) != (n < len(p)) || err != nil && err != io.EOF {
					t.Errorf("%d bytes at %d: %d of %d, %v", len(p), off, n, len(want), err)
					return
				}
			}
		}()
	}
	all.Wait()
}

// TestReaderFetchesWhatIsWanted: of two chunks in a large object nothing else is transferred.
func TestReaderFetchesWhatIsWanted(t *testing.T) {
	server, b := connect(t)
	data := objecttest.Noise(12 << 20)
	if err := objects.PutWhole(t.Context(), b, "k", data, objects.Condition{}); err != nil {
		t.Fatal(err)
	}
	var transferred atomic.Int64
	server.Failing(func(r *http.Request) *objecttest.Fault {
		var from, to int64
		if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); n == 2 {
			transferred.Add(to - from + 1)
		}
		return nil
	})
	info, err := b.Head(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	r := objects.NewReader(t.Context(), b, info)
	defer r.Close()
	wanted := []objects.Extent{{From: 100_000, To: 1_300_000}, {From: 7_000_000, To: 7_700_000}}
	r.Want(wanted...)
	for i := range 10 { // a part of each in turn, like a reader of columns
		for _, e := range wanted {
			n := (e.To - e.From) / 10
			p := make([]byte, n)
			if _, err := r.ReadAt(p, e.From+int64(i)*n); err != nil ||
				!bytes.Equal(p, data[e.From+int64(i)*n:e.From+int64(i+1)*n]) {
				t.Fatal("other bytes", err)
			}
		}
	}
	if transferred.Load() != 1_900_000 {
		t.Errorf("%d bytes were asked for, of 1900000 wanted ones", transferred.Load())
	}
}

// TestReaderEndsWithItsContext: a silent server does not delay a cancelled reader.
func TestReaderEndsWithItsContext(t *testing.T) {
	server, b := connect(t)
	objecttest.Put(t, b, "k", "text")
	info, err := b.Head(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	server.Failing(func(*http.Request) *objecttest.Fault {
		cancel()
		return &objecttest.Fault{Wait: time.Hour}
	})
	if _, err := objects.NewReader(ctx, b, info).ReadAt(make([]byte, 4), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestFaults lets each kind of request fail once, with each temporary error, while an object of
// several parts is written and read: the caller notices nothing.
func TestFaults(t *testing.T) {
	racetest.Further(t)
	data := objecttest.Noise(17 << 20)
	faults := map[string]objecttest.Fault{
		"503": {Status: 503, Code: "SlowDown"}, "500": {Status: 500, Code: "InternalError"}, "refused": {Cut: -1},
		"lost": {Lose: true}, "cut": {Cut: 1000}, "silent": {Hush: 10}, "deaf": {Deaf: 100},
	}
	for i, kind := range []string{"POST uploads", "PUT partNumber", "POST uploadId", "HEAD", "GET", "PUT"} {
		for k, name := range []string{"503", "500", "refused", "lost", "cut", "deaf", "silent"} {
			f := faults[name]
			if testing.Short() && (i+k)%3 != 0 {
				continue // each request with two faults, and each fault
			}
			answers := kind != "HEAD" && kind != "PUT" && kind != "PUT partNumber" // with a body
			if name == "silent" && !answers || name == "deaf" && kind != "PUT partNumber" {
				continue
			}
			t.Run(kind+" "+name, func(t *testing.T) {
				if name == "silent" || name == "deaf" {
					objecttest.Impatient(t)
				}
				server, b := connect(t)
				method, query, _ := strings.Cut(kind, " ")
				var failed atomic.Int64
				server.Failing(func(r *http.Request) *objecttest.Fault {
					if r.Method != method || !r.URL.Query().Has(query) &&
						(query != "" || r.URL.RawQuery != "" && r.URL.Query().Get("x-id") == "") || failed.Add(1) > 1 {
						return nil
					}
					return &f
				})
				whole := data
				if kind == "PUT" {
					whole = data[:1000]
				}
				objecttest.WriteAndRead(t, b, whole)
				if failed.Load() == 0 {
					t.Error("nothing has failed")
				}
				if n := server.Uploads(); n > 0 && name != "lost" && name != "silent" {
					t.Errorf("%d uploads are left", n)
				}
			})
		}
	}
}

// TestErrors checks the texts of permanent errors: they contain nothing of the credentials, the
// addresses or the server's own text.
func TestErrors(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	for _, c := range []struct {
		name  string
		fault objecttest.Fault
		want  error
		words string
	}{
		{"busy", objecttest.Fault{Status: 503, Code: "SlowDown"}, nil, "too busy"},
		{"expired", objecttest.Fault{Status: 400, Code: "ExpiredToken"}, objects.ErrDenied, "have expired"},
		{"denied", objecttest.Fault{Status: 403, Code: "AccessDenied"}, objects.ErrDenied, "may not do this"},
		{"wrong key", objecttest.Fault{Status: 403, Code: "InvalidAccessKeyId"}, objects.ErrDenied,
			"does not know these credentials"},
		{"no bucket", objecttest.Fault{Status: 404, Code: "NoSuchBucket"}, objects.ErrNoBucket, "no such bucket"},
		{"nonsense", objecttest.Fault{Status: 418, Code: objecttest.SecretKey}, nil, "status 418"},
		{"down", objecttest.Fault{Cut: -1}, nil, "again after several attempts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, b := connect(t)
			server.Failing(func(*http.Request) *objecttest.Fault { return &c.fault })
			var errs []error
			errs = append(errs, b.List(t.Context(), "", func(objects.Info) error { return nil }))
			_, err := b.Get(t.Context(), "k", `"e"`, 0, 1)
			errs = append(errs, err)
			errs = append(errs, objects.PutWhole(t.Context(), b, "k", nil, objects.Condition{}))
			_, err = b.Begin(t.Context(), "k", "m", objects.Condition{})
			errs = append(errs, err)
			for i, err := range errs {
				objecttest.Refused(t, fmt.Sprint("request ", i), err, c.want, c.words, server.URL, "Signature")
			}
		})
	}
}

// TestWrongETag: an answer with another state of the object is refused.
func TestWrongETag(t *testing.T) {
	server, b := connect(t)
	objecttest.Put(t, b, "k", "text")
	server.Failing(func(*http.Request) *objecttest.Fault { return &objecttest.Fault{ETag: `"other"`} })
	if _, err := b.Get(t.Context(), "k", `"e"`, 0, 4); err == nil {
		t.Error("a wrong ETag is no error")
	}
	info := server.Get(bucketName, "k")
	if _, err := b.Get(t.Context(), "k", info.ETag, 0, 4); !errors.Is(err, objects.ErrCondition) {
		t.Errorf("an answer with a wrong ETag: %v", err)
	}
}

// TestWrongLength: an answer of fewer bytes than were asked for is refused before it is read, and one of as many is
// not.
func TestWrongLength(t *testing.T) {
	server, b := connect(t)
	objecttest.Put(t, b, "k", "text")
	etag := server.Get(bucketName, "k").ETag
	for n, wrong := range map[int64]bool{3: false, 4: false, 5: true} {
		body, err := b.Get(t.Context(), "k", etag, 0, n)
		if (err != nil) != wrong || wrong &&
			!strings.Contains(err.Error(), "the server gave 4 bytes where 5 were asked for") {
			t.Errorf("%d bytes of 4: %v", n, err)
		}
		if err == nil {
			body.Close()
		}
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	server, b := connect(t)
	objecttest.AbortLeavesNothing(t, server, b, bucketName)
}

// TestEncryption: the server receives the encryption settings, for whole objects and for parts.
func TestEncryption(t *testing.T) {
	for sse, key := range map[string]string{"AES256": "", "aws:kms": "arn:aws:kms:eu-west-1:1:key/2"} {
		server, _ := connect(t)
		t.Setenv("SDLFILTER_S3_SSE", sse)
		t.Setenv("SDLFILTER_S3_SSE_KMS_KEY_ID", key)
		objects.Forget()
		b := open(t)
		for _, size := range []int{10, 17 << 20} {
			if err := objecttest.Write(t, b, fmt.Sprint(size), objecttest.Noise(size)).Commit(); err != nil {
				t.Fatal(err)
			}
			h := server.Get(bucketName, fmt.Sprint(size)).Header
			if got, of := h.Get("x-amz-server-side-encryption"), h.Get("x-amz-server-side-encryption-aws-kms-key-id"); got !=
				sse || of != key {
				t.Errorf("%s, %d bytes: encrypted by %q, %q", sse, size, got, of)
			}
		}
	}
	for sse, key := range map[string]string{"rot13": "", "AES256": "a-key", "": "a-key"} {
		objecttest.Use(t, "http://127.0.0.1:1", objecttest.AccessKey, objecttest.SecretKey)
		t.Setenv("SDLFILTER_S3_SSE", sse)
		t.Setenv("SDLFILTER_S3_SSE_KMS_KEY_ID", key)
		if _, err := objects.Open(t.Context(), objectpath.Name{Scheme: "s3", Bucket: bucketName}); err == nil ||
			!strings.Contains(err.Error(), "SDLFILTER_S3_SSE") {
			t.Errorf("%q with key %q: got %v", sse, key, err)
		}
	}
}

// TestNoCredentials looks for credentials where there are none.
func TestNoCredentials(t *testing.T) {
	objecttest.Use(t, "http://127.0.0.1:1", "", "")
	_, err := objects.Open(t.Context(), objectpath.Name{Scheme: "s3", Bucket: bucketName})
	if !errors.Is(err, objects.ErrDenied) || !strings.Contains(err.Error(), "no credentials were found") {
		t.Errorf("got %v", err)
	}
}

// The error of a request without an answer holds no address.
func TestNoAnswerInTime(t *testing.T) {
	server, b := connect(t)
	server.Failing(func(*http.Request) *objecttest.Fault { return &objecttest.Fault{Wait: time.Hour} })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := b.Put(ctx, "k", []byte("text"), "", objects.Condition{})
	objecttest.Refused(t, "no answer", err, context.DeadlineExceeded, "no answer came in time", server.URL)
}
