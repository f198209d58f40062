package objects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
)

// Variables of the environment for Google Cloud Storage: with which key a release is
// encrypted where it lies, projects/…/cryptoKeys/… (without it, as the bucket's default has
// it); and the address of a server of one's own.
const (
	GSKMSVariable      = "SDLFILTER_GS_KMS_KEY"
	GSEndpointVariable = "SDLFILTER_GS_ENDPOINT"
)

// Info is what is known of an object without its content.
type Info struct {
	Key      string
	Size     int64
	ETag     string // differs where the content does
	Modified time.Time
	Mark     string // what the writer of the object has called the writing, "" where it is not known
}

// Condition is what must hold of a name at the moment at which an object gets it.
type Condition struct {
	Absent bool   // nothing is there
	ETag   string // this is there; "" : whatever
}

// Bucket is one bucket by one protocol. Methods can be called concurrently. They try again
// what may succeed another time, and end with their context. Errors hold no credential, no
// signed address and no answer of a server as it came; those that callers tell apart are
// the variables below.
type Bucket interface {
	Head(ctx context.Context, key string) (Info, error)
	// Get opens a stretch of an object, which must have that ETag.
	Get(ctx context.Context, key, etag string, offset, n int64) (io.ReadCloser, error)
	// List calls found with every object whose key begins with prefix, in the order of keys.
	List(ctx context.Context, prefix string, found func(Info) error) error
	// Put writes a whole object. mark is what Head says of it afterwards.
	Put(ctx context.Context, key string, data []byte, mark string, c Condition) error
	// Begin begins an object of several parts, which is completed on the condition given.
	Begin(ctx context.Context, key, mark string, c Condition) (Upload, error)
	// Resume is an upload that another process has begun, from its Token.
	Resume(key string, token json.RawMessage) (Upload, error)
	Delete(ctx context.Context, key string) error
}

// Upload is an object that is being written in parts. It is not visible before Complete.
type Upload interface {
	// Part writes the number-th part, from 1. It can be called concurrently, and again.
	Part(ctx context.Context, number int, data []byte) error
	// Complete makes the object of its parts, on the condition on which it was begun.
	Complete(ctx context.Context, c Condition) error
	Abort(ctx context.Context) error
	// Token is what another process needs to complete the parts that were written so far,
	// or to give them up.
	Token() (json.RawMessage, error)
	// There is ErrNoUpload where the upload, or one of its parts, is not there any more.
	There(ctx context.Context) error
}

var (
	// ErrAbsent is the error of an object that is not there.
	ErrAbsent = errors.New("no such object")
	// ErrNoBucket is the error of a bucket that is not there.
	ErrNoBucket = errors.New("no such bucket")
	// ErrCondition is the error of a Condition, or an ETag, that does not hold.
	ErrCondition = errors.New("what is under this name is not what was there before")
	// ErrNoUpload is the error of an upload that has been completed or given up.
	ErrNoUpload = errors.New("the upload is not there any more")
	// ErrDamaged is the error of an object that the server has made of other bytes than were sent.
	ErrDamaged = errors.New("the server has other bytes than were sent")
	// ErrDenied is the error of credentials that are missing, wrong, expired or not enough.
	ErrDenied = errors.New("access denied")
)

// Opener makes a bucket of its name. It may look for credentials, and need not connect.
type Opener func(ctx context.Context, bucket string) (Bucket, error)

var registered = map[string]Opener{}

// Register names the protocol of a scheme. It is for the init functions of packages.
func Register(scheme string, open Opener) {
	registered[scheme] = open
	objectpath.Know(scheme)
}

var opened sync.Map // scheme://bucket → Bucket

// Open returns the bucket of a name. Buckets are opened once for a program, so that
// connections and credentials are shared.
func Open(ctx context.Context, n objectpath.Name) (Bucket, error) {
	at := n.Scheme + "://" + n.Bucket
	if b, ok := opened.Load(at); ok {
		return b.(Bucket), nil
	}
	open, ok := registered[n.Scheme]
	if !ok {
		return nil, objectpath.Unknown(n.Scheme)
	}
	b, err := open(ctx, n.Bucket)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	opened.Store(at, b)
	return b, nil
}

// MostPause is the longest time before a request is sent again that may succeed another time. Tests of what fails
// shorten it.
var MostPause = 20 * time.Second

// Forget has Open open every bucket anew, for tests that change the environment.
func Forget() { opened.Clear() }
