// Package s3 is object storage by the protocol of Amazon S3, which most others speak too.
// Credentials, region, endpoint and everything else are what the AWS SDK finds in the
// usual environment: AWS_ACCESS_KEY_ID and its like, the files below ~/.aws, AWS_PROFILE,
// web identities, containers and machines. With an endpoint of one's own
// (AWS_ENDPOINT_URL_S3) the bucket stands in the path and not in the host's name.
package s3

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/logging"

	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
)

func init() { objects.Register("s3", Open) }

// markKey is the metadata of an object by which a writer knows it again.
const markKey = "sdlfilter-writing"

type bucket struct {
	name   string
	client *s3.Client
	sse    types.ServerSideEncryption
	kms    *string
}

// Open looks for credentials and settings; it does not connect to the bucket.
func Open(ctx context.Context, name string) (objects.Bucket, error) {
	b := &bucket{name: name}
	if err := b.encryption(); err != nil {
		return nil, err
	}
	transport := awshttp.NewBuildableClient().WithTransportOptions(objects.Tune)
	c, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(transport), config.WithLogger(logging.Nop{}))
	if err != nil {
		return nil,
			errors.New(
				"the settings of the AWS environment cannot be read: see AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE and AWS_PROFILE")
	}
	if _, err := c.Credentials.Retrieve(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, errNoCredentials
	}
	if c.Region == "" {
		c.Region = "us-east-1" // where it is asked for by name, S3 answers with the right one
	}
	b.client = s3.NewFromConfig(c, func(o *s3.Options) {
		o.HTTPClient = objects.Watched{Doer: o.HTTPClient} // with all that the environment has made of it
		o.DisableLogOutputChecksumValidationSkipped = true
		o.UsePathStyle = o.BaseEndpoint != nil || os.Getenv("AWS_ENDPOINT_URL") != "" ||
			os.Getenv("AWS_ENDPOINT_URL_S3") != ""
		if os.Getenv("AWS_MAX_ATTEMPTS") == "" {
			o.Retryer = retry.AddWithMaxAttempts(o.Retryer, 8)
		}
		o.Retryer = retry.AddWithMaxBackoffDelay(o.Retryer, objects.MostPause)
	})
	return b, nil
}

// encryption reads what the environment says of encryption at rest.
func (b *bucket) encryption() error {
	b.sse = types.ServerSideEncryption(os.Getenv(objectpath.SSEVariable))
	switch b.sse {
	case "", types.ServerSideEncryptionAes256, types.ServerSideEncryptionAwsKms, types.ServerSideEncryptionAwsKmsDsse:
	default:
		return fmt.Errorf("%s: must be one of AES256, aws:kms, aws:kms:dsse", objectpath.SSEVariable)
	}
	if key := os.Getenv(objectpath.KMSVariable); key != "" {
		if !strings.HasPrefix(string(b.sse), "aws:kms") {
			return fmt.Errorf("%s: needs %s=aws:kms", objectpath.KMSVariable, objectpath.SSEVariable)
		}
		b.kms = &key
	}
	return nil
}

func (b *bucket) Head(ctx context.Context, key string) (objects.Info, error) {
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.name, Key: &key})
	if err != nil {
		return objects.Info{}, b.translated(err)
	}
	return objects.Info{
		Key: key, Size: aws.ToInt64(out.ContentLength), ETag: aws.ToString(out.ETag),
		Modified: aws.ToTime(out.LastModified), Mark: out.Metadata[markKey],
	}, nil
}

func (b *bucket) Get(ctx context.Context, key, etag string, offset, n int64) (io.ReadCloser, error) {
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &b.name, Key: &key, IfMatch: some(etag), Range: aws.String(fmt.Sprintf("bytes=%d-%d", offset, offset+n-1)),
	})
	if err != nil {
		return nil, b.translated(err)
	}
	// A server that does not know conditions would give whatever it has.
	if etag != "" && aws.ToString(out.ETag) != etag {
		out.Body.Close()
		return nil, objects.ErrCondition
	}
	if aws.ToInt64(out.ContentLength) != n {
		out.Body.Close()
		return nil, fmt.Errorf("the server gave %d bytes where %d were asked for", aws.ToInt64(out.ContentLength), n)
	}
	return out.Body, nil
}

func (b *bucket) List(ctx context.Context, prefix string, found func(objects.Info) error) error {
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return b.translated(err)
		}
		for _, o := range page.Contents {
			err := found(objects.Info{Key: aws.ToString(o.Key), Size: aws.ToInt64(o.Size), ETag: aws.ToString(o.ETag),
				Modified: aws.ToTime(o.LastModified)})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bucket) Put(ctx context.Context, key string, data []byte, mark string, c objects.Condition) error {
	in := &s3.PutObjectInput{
		Bucket: &b.name, Key: &key, Body: bytes.NewReader(data), Metadata: map[string]string{markKey: mark},
		ServerSideEncryption: b.sse, SSEKMSKeyId: b.kms, IfMatch: some(c.ETag),
	}
	if c.Absent {
		in.IfNoneMatch = aws.String("*")
	}
	_, err := b.client.PutObject(ctx, in)
	return b.translated(err)
}

func (b *bucket) Delete(ctx context.Context, key string) error {
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: &key})
	return b.translated(err)
}

// upload is one upload in parts.
type upload struct {
	*bucket
	key string
	id  *string

	mu    sync.Mutex
	parts map[int]types.CompletedPart
}

func (b *bucket) Begin(ctx context.Context, key, mark string, _ objects.Condition) (objects.Upload, error) {
	out, err := b.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: &b.name, Key: &key, Metadata: map[string]string{markKey: mark},
		ServerSideEncryption: b.sse, SSEKMSKeyId: b.kms, ChecksumAlgorithm: types.ChecksumAlgorithmCrc32,
	})
	if err != nil {
		return nil, b.translated(err)
	}
	return &upload{bucket: b, key: key, id: out.UploadId, parts: map[int]types.CompletedPart{}}, nil
}

func (u *upload) Part(ctx context.Context, number int, data []byte) error {
	n := int32(number)
	out, err := u.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: &u.name, Key: &u.key, UploadId: u.id, PartNumber: &n, Body: bytes.NewReader(data),
		ChecksumAlgorithm: types.ChecksumAlgorithmCrc32,
	})
	if err != nil {
		return u.translated(err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.parts[number] = types.CompletedPart{ETag: out.ETag, PartNumber: &n, ChecksumCRC32: out.ChecksumCRC32}
	return nil
}

func (u *upload) Complete(ctx context.Context, c objects.Condition) error {
	in := &s3.CompleteMultipartUploadInput{
		Bucket: &u.name, Key: &u.key, UploadId: u.id, MultipartUpload: &types.CompletedMultipartUpload{},
		IfMatch: some(c.ETag),
	}
	if c.Absent {
		in.IfNoneMatch = aws.String("*")
	}
	for n := 1; n <= len(u.parts); n++ {
		in.MultipartUpload.Parts = append(in.MultipartUpload.Parts, u.parts[n])
	}
	_, err := u.client.CompleteMultipartUpload(ctx, in)
	return u.translated(err)
}

func (u *upload) Abort(ctx context.Context) error {
	_,
		err := u.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &u.name, Key: &u.key, UploadId: u.id})
	return u.translated(err)
}

// token is an upload as another process takes it up.
type token struct {
	ID    string      `json:"id"`
	Parts []tokenPart `json:"parts"` // in order
}

type tokenPart struct {
	ETag  string `json:"etag"`
	CRC32 string `json:"crc32,omitempty"` // of a server that tells it
}

func (u *upload) Token() (json.RawMessage, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	t := token{ID: aws.ToString(u.id)}
	for n := 1; n <= len(u.parts); n++ {
		p, ok := u.parts[n]
		if !ok {
			return nil, errors.New("a part of the upload is missing")
		}
		t.Parts = append(t.Parts, tokenPart{aws.ToString(p.ETag), aws.ToString(p.ChecksumCRC32)})
	}
	return json.Marshal(t)
}

func (b *bucket) Resume(key string, text json.RawMessage) (objects.Upload, error) {
	var t token
	if err := json.Unmarshal(text, &t); err != nil || t.ID == "" || len(t.Parts) == 0 {
		return nil, errors.New("what is known of the upload is damaged")
	}
	u := &upload{bucket: b, key: key, id: &t.ID, parts: map[int]types.CompletedPart{}}
	for i, p := range t.Parts {
		n := int32(i + 1)
		u.parts[i+1] = types.CompletedPart{ETag: some(p.ETag), PartNumber: &n, ChecksumCRC32: some(p.CRC32)}
	}
	return u, nil
}

func (u *upload) There(ctx context.Context) error {
	pages := s3.NewListPartsPaginator(u.client, &s3.ListPartsInput{Bucket: &u.name, Key: &u.key, UploadId: u.id})
	found := 0
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return u.translated(err)
		}
		for _, p := range page.Parts {
			if want, ok := u.parts[int(aws.ToInt32(p.PartNumber))]; ok && aws.ToString(p.ETag) == aws.ToString(want.ETag) {
				found++
			}
		}
	}
	if found != len(u.parts) {
		return objects.ErrNoUpload
	}
	return nil
}

func some(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
