// Package az is object storage by the protocol of Azure Blob Storage: az://CONTAINER/KEY,
// in the account that the environment names. AZURE_STORAGE_CONNECTION_STRING says
// everything; else AZURE_STORAGE_ACCOUNT (or AZURE_STORAGE_SERVICE_ENDPOINT) says where, and
// AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or what the Azure SDK finds (service principals,
// workload and managed identities, the Azure CLI) who.
//
// An object in parts is made of blocks, which nobody can read before a list of them is
// committed, and which the service removes after a week where none is. There is no way to
// give them up before.
package az

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/sdlfilter/sdlfilter/internal/objects"
)

func init() { objects.Register("az", Open) }

// markKey is the metadata of an object by which a writer knows it again. It must be an
// identifier.
const markKey = "sdlfilter_writing"

type bucket struct{ client *container.Client }

func (b *bucket) Head(ctx context.Context, key string) (objects.Info, error) {
	out, err := b.client.NewBlobClient(key).GetProperties(ctx, nil)
	if err != nil {
		return objects.Info{}, translated(err)
	}
	info := objects.Info{Key: key, Size: deref(out.ContentLength), ETag: string(deref(out.ETag)),
		Modified: deref(out.LastModified)}
	for k, v := range out.Metadata {
		if strings.EqualFold(k, markKey) { // HTTP changes its case
			info.Mark = deref(v)
		}
	}
	return info, nil
}

func (b *bucket) Get(ctx context.Context, key, etag string, offset, n int64) (io.ReadCloser, error) {
	out, err := b.client.NewBlobClient(key).DownloadStream(ctx, &blob.DownloadStreamOptions{
		Range: blob.HTTPRange{Offset: offset, Count: n}, AccessConditions: conditions(objects.Condition{ETag: etag}),
	})
	if err != nil {
		return nil, translated(err)
	}
	if etag != "" && string(deref(out.ETag)) != etag {
		out.Body.Close()
		return nil, objects.ErrCondition
	}
	if got := deref(out.ContentLength); got != n {
		out.Body.Close()
		return nil, fmt.Errorf("the server gave %d bytes where %d were asked for", got, n)
	}
	return out.Body, nil
}

func (b *bucket) List(ctx context.Context, prefix string, found func(objects.Info) error) error {
	pages := b.client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &prefix})
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return translated(err)
		}
		for _, o := range page.Segment.BlobItems {
			info := objects.Info{Key: deref(o.Name)}
			if p := o.Properties; p != nil {
				info.Size, info.ETag, info.Modified = deref(p.ContentLength), quoted(string(deref(p.ETag))), deref(p.LastModified)
			}
			if err := found(info); err != nil {
				return err
			}
		}
	}
	return nil
}

// quoted is an ETag as headers have it: lists leave the quotes out.
func quoted(etag string) string {
	if etag == "" || strings.HasPrefix(etag, `"`) {
		return etag
	}
	return `"` + etag + `"`
}

func (b *bucket) Put(ctx context.Context, key string, data []byte, mark string, c objects.Condition) error {
	_, err := b.client.NewBlockBlobClient(key).Upload(ctx, body(data), &blockblob.UploadOptions{
		Metadata: metadata(mark), AccessConditions: conditions(c),
		TransactionalValidation: blob.TransferValidationTypeComputeCRC64(),
	})
	return translated(err)
}

func (b *bucket) Delete(ctx context.Context, key string) error {
	_, err := b.client.NewBlobClient(key).Delete(ctx, nil)
	if err = translated(err); errors.Is(err, objects.ErrAbsent) {
		return nil
	}
	return err
}

func body(data []byte) io.ReadSeekCloser { return streaming.NopCloser(bytes.NewReader(data)) }

func metadata(mark string) map[string]*string { return map[string]*string{markKey: &mark} }

func conditions(c objects.Condition) *blob.AccessConditions {
	m := &blob.ModifiedAccessConditions{}
	switch {
	case c.Absent:
		m.IfNoneMatch = to.Ptr(azcore.ETagAny)
	case c.ETag != "":
		m.IfMatch = to.Ptr(azcore.ETag(c.ETag))
	}
	return &blob.AccessConditions{ModifiedAccessConditions: m}
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// upload is a list of blocks that are not committed.
type upload struct {
	*bucket
	key, mark string

	mu    sync.Mutex
	sizes map[int]int64 // by the blocks' numbers
}

func (b *bucket) Begin(_ context.Context, key, mark string, _ objects.Condition) (objects.Upload, error) {
	return &upload{bucket: b, key: key, mark: mark, sizes: map[int]int64{}}, nil
}

// id is the name of a block, which is as long as every other of the object, and none of
// another writer's.
func (u *upload) id(number int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s-%05d", u.mark, number))
}

func (u *upload) Part(ctx context.Context, number int, data []byte) error {
	// A block cannot be empty; a list of none is an object that is.
	if len(data) > 0 {
		_, err := u.client.NewBlockBlobClient(u.key).StageBlock(ctx, u.id(number), body(data), &blockblob.StageBlockOptions{
			TransactionalValidation: blob.TransferValidationTypeComputeCRC64(),
		})
		if err != nil {
			return translated(err)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sizes[number] = int64(len(data))
	return nil
}

// ids are the blocks in order.
func (u *upload) ids() (ids []string) {
	for n := 1; n <= len(u.sizes); n++ {
		if u.sizes[n] > 0 {
			ids = append(ids, u.id(n))
		}
	}
	return ids
}

func (u *upload) Complete(ctx context.Context, c objects.Condition) error {
	_, err := u.client.NewBlockBlobClient(u.key).CommitBlockList(ctx, u.ids(), &blockblob.CommitBlockListOptions{
		Metadata: metadata(u.mark), AccessConditions: conditions(c),
	})
	err = translated(err)
	if !errors.Is(err, objects.ErrNoUpload) {
		return err
	}
	// The writer that completes the object removes the blocks of all others.
	info, now := u.Head(ctx, u.key)
	if now == nil && (c.Absent || c.ETag != "" && info.ETag != c.ETag) || errors.Is(now, objects.ErrAbsent) &&
		c.ETag != "" {
		return objects.ErrCondition
	}
	return err
}

// Abort does nothing: see the package's notes.
func (u *upload) Abort(context.Context) error { return nil }

type token struct {
	Mark  string  `json:"mark"`
	Sizes []int64 `json:"sizes"` // of the blocks, in order
}

func (u *upload) Token() (json.RawMessage, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	t := token{Mark: u.mark}
	for n := 1; n <= len(u.sizes); n++ {
		size, ok := u.sizes[n]
		if !ok {
			return nil, errors.New("a part of the upload is missing")
		}
		t.Sizes = append(t.Sizes, size)
	}
	return json.Marshal(t)
}

func (b *bucket) Resume(key string, text json.RawMessage) (objects.Upload, error) {
	var t token
	if err := json.Unmarshal(text, &t); err != nil || t.Mark == "" || len(t.Sizes) == 0 {
		return nil, errors.New("what is known of the upload is damaged")
	}
	u := &upload{bucket: b, key: key, mark: t.Mark, sizes: map[int]int64{}}
	for i, n := range t.Sizes {
		u.sizes[i+1] = n
	}
	return u, nil
}

func (u *upload) There(ctx context.Context) error {
	ids := u.ids()
	if len(ids) == 0 {
		return nil // an empty list is always there
	}
	out, err := u.client.NewBlockBlobClient(u.key).GetBlockList(ctx, blockblob.BlockListTypeUncommitted, nil)
	if err = translated(err); errors.Is(err, objects.ErrAbsent) {
		return objects.ErrNoUpload
	}
	if err != nil {
		return err
	}
	there := map[string]int64{}
	for _, block := range out.UncommittedBlocks {
		there[deref(block.Name)] = deref(block.Size)
	}
	for n, size := range u.sizes {
		if size > 0 && there[u.id(n)] != size {
			return objects.ErrNoUpload
		}
	}
	return nil
}

// Probe has the server refuse an object on a condition that never holds: it looks at the credentials and
// the container first. Blocks would stay for a week.
func (b *bucket) Probe(ctx context.Context, key string) error {
	err := b.Put(ctx, key, nil, "", objects.Condition{ETag: `"0x0"`})
	switch {
	case err == nil:
		return errors.New("the server writes objects whatever the condition")
	case errors.Is(err, objects.ErrCondition), errors.Is(err, objects.ErrAbsent):
		return nil
	}
	return err
}
