package az_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	_ "github.com/sdlfilter/sdlfilter/internal/objects/az"

	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
)

const name = "release"

var variables = []string{"AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY",
	"AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SERVICE_ENDPOINT"}

// use sets the given variables of the environment and unsets the others.
func use(t *testing.T, set map[string]string) {
	t.Helper()
	for _, v := range variables {
		t.Setenv(v, set[v])
	}
	objects.Forget()
	t.Cleanup(objects.Forget)
}

func open(t *testing.T) objects.Bucket {
	t.Helper()
	return objecttest.Open(t, "az", name)
}

// TestContract tests the protocol against the server in the process and, if the environment names
// one, against an external server.
func TestContract(t *testing.T) {
	objecttest.RunOn(t, "SDLFILTER_TEST_AZ", func(t *testing.T) objecttest.Contract {
		server := objecttest.NewAz(t, name)
		objecttest.UseAz(t, server.URL)
		return objecttest.Contract{Bucket: open(t), GivesNothingUp: true}
	}, func(t *testing.T, connection string) objecttest.Contract {
		use(t, map[string]string{"AZURE_STORAGE_CONNECTION_STRING": connection})
		c, err := container.NewClientFromConnectionString(connection, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Create(t.Context(), nil); err != nil && !bloberror.HasCode(err, bloberror.ContainerAlreadyExists) {
			t.Fatal(err)
		}
		return objecttest.Contract{Bucket: open(t), GivesNothingUp: true}
	})
}

const secret = "a-secret-that-no-message-may-hold"

// serve starts a server that answers every request, and an environment that uses it.
func serve(t *testing.T, answer http.HandlerFunc) (objects.Bucket, *atomic.Int64) {
	t.Helper()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	use(t, map[string]string{
		"AZURE_STORAGE_ACCOUNT": "account", "AZURE_STORAGE_KEY": base64.StdEncoding.EncodeToString([]byte(secret)),
		"AZURE_STORAGE_SERVICE_ENDPOINT": server.URL,
	})
	return open(t), &requests
}

func refusing(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("x-ms-error-code", code)
		w.Header().Set("Content-Type", "application/xml")
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(status)
		w.Write(
			[]byte("<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>the server says " + secret +
				"</Message></Error>"))
	}
}

// TestErrors checks the texts of permanent errors: they contain nothing of the credentials, the
// addresses or the server's own text.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		want   error
		words  string
	}{
		{403, "AuthenticationFailed", objects.ErrDenied, "or have expired"},
		{401, "NoAuthenticationInformation", objects.ErrDenied, "access denied"},
		{404, "ContainerNotFound", objects.ErrNoBucket, "no such bucket"},
		{404, "BlobNotFound", objects.ErrAbsent, "no such object"},
		{412, "ConditionNotMet", objects.ErrCondition, "not what was there before"},
		{409, "BlobAlreadyExists", objects.ErrCondition, "not what was there before"},
		{418, secret, nil, "status 418"},
	} {
		b, _ := serve(t, refusing(c.status, c.code))
		_, head := b.Head(t.Context(), "k")
		_, get := b.Get(t.Context(), "k", `"e"`, 0, 1)
		put := b.Put(t.Context(), "k", []byte("x"), "m", objects.Condition{Absent: true})
		up, err := b.Begin(t.Context(), "k", "m", objects.Condition{Absent: true})
		if err != nil {
			t.Fatal(err)
		}
		part := up.Part(t.Context(), 1, []byte("x"))
		complete := up.Complete(t.Context(), objects.Condition{Absent: true})
		for i, err := range []error{head, get, put, part, complete} {
			objecttest.Refused(t, fmt.Sprintf("%d %s, request %d", c.status, c.code, i), err, c.want, c.words, secret, "account",
				"Signature", base64.StdEncoding.EncodeToString([]byte(secret)))
		}
	}
}

// TestBusy: a request to a busy server is repeated, and a server that is busy once causes no error.
func TestBusy(t *testing.T) {
	var once atomic.Bool
	b, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if once.CompareAndSwap(false, true) {
			refusing(503, "ServerBusy")(w, r)
			return
		}
		w.Header().Set("ETag", `"e"`)
		w.Header().Set("Content-Length", "7")
		w.Header().Set("x-ms-meta-Sdlfilter_writing", "mark")
	})
	info, err := b.Head(t.Context(), "k")
	if err != nil || info.Size != 7 || info.ETag != `"e"` || info.Mark != "mark" || requests.Load() != 2 {
		t.Errorf("%+v, %v after %d requests", info, err, requests.Load())
	}
}

// TestSilence: if a server stops reading or sending, the request is repeated.
func TestSilence(t *testing.T) {
	objecttest.Impatient(t)
	over := make(chan struct{})
	var once, listed atomic.Bool
	b, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && once.CompareAndSwap(false, true) {
			_, _ = io.CopyN(io.Discard, r.Body, 100)
			<-over
			panic(http.ErrAbortHandler)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusCreated)
			return
		}
		w.Header().Set("Content-Type", "application/xml")
		text := "<?xml version=\"1.0\"?><EnumerationResults><Blobs></Blobs><NextMarker></NextMarker></EnumerationResults>"
		if listed.CompareAndSwap(false, true) {
			_, _ = io.WriteString(w, text[:20])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, text)
	})
	t.Cleanup(func() { close(over) })
	up, err := b.Begin(t.Context(), "k", "m", objects.Condition{Absent: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := up.Part(t.Context(), 1, objecttest.Noise(16<<20)); err != nil || requests.Load() != 2 {
		t.Errorf("a part: %v after %d requests", err, requests.Load())
	}
	if err := b.List(t.Context(), "", func(objects.Info) error { return nil }); err != nil || requests.Load() != 4 {
		t.Errorf("a list: %v after %d requests", err, requests.Load())
	}
}

// TestWrongETag: an answer with another state of the object is refused.
func TestWrongETag(t *testing.T) {
	b, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"other"`)
		w.WriteHeader(http.StatusPartialContent)
		w.Write([]byte("x"))
	})
	if _, err := b.Get(t.Context(), "k", `"e"`, 0, 1); !errors.Is(err, objects.ErrCondition) {
		t.Errorf("got %v", err)
	}
	if _, err := b.Get(t.Context(), "k", `"other"`, 0, 2); err == nil {
		t.Error("an answer that is too short is taken")
	}
}

// TestEnvironment checks the errors for unusable environments.
func TestEnvironment(t *testing.T) {
	for _, c := range []struct {
		set   map[string]string
		words string
	}{
		{nil, "no account was found"},
		{map[string]string{"AZURE_STORAGE_CONNECTION_STRING": secret}, "AZURE_STORAGE_CONNECTION_STRING cannot be read"},
		{map[string]string{"AZURE_STORAGE_ACCOUNT": "a", "AZURE_STORAGE_KEY": secret}, "AZURE_STORAGE_KEY is no key"},
		{map[string]string{"AZURE_STORAGE_SERVICE_ENDPOINT": "https://a:" + secret + "@b"}, "no address of a server"},
	} {
		use(t, c.set)
		_, err := objects.Open(t.Context(), objectpath.Name{Scheme: "az", Bucket: name})
		if err == nil || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), secret) {
			t.Errorf("%v: got %v, want %q", c.set, err, c.words)
		}
	}
}

// The error of a request without an answer holds no address.
func TestNoAnswerInTime(t *testing.T) {
	server := objecttest.Serve(t, "az", name)
	b := open(t)
	server.Failing(func(*http.Request) *objecttest.Fault { return &objecttest.Fault{Wait: time.Hour} })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := b.Put(ctx, "k", []byte("text"), "", objects.Condition{})
	objecttest.Refused(t, "no answer", err, context.DeadlineExceeded, "no answer came in time", server.URL)
}
