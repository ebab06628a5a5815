package apiclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

const (
	// maxPageObjects and MaxPageBytes limit a page of a list. A page has about forty pods of
	// 20 KiB; objects of more than half a megabyte, which anyone can create, are read one by
	// one. In memory, an object takes several times as much as on the wire.
	maxPageObjects = 500
	// MaxPageBytes is how large a page with more than one object may be.
	MaxPageBytes = 1 << 20
	// maxListStarts is how often a list is started if its continue token expires.
	maxListStarts = 3
	// PageLimit is how long a page may take. It is longer than a stream may be silent, because
	// a page may arrive slowly.
	PageLimit = 10 * time.Minute
)

var (
	// ErrSlow means that a page did not arrive in time.
	ErrSlow = errors.New("the API server has not sent a page of the list in " + PageLimit.String())

	errPageTooLarge = errors.New("the page is too large")
)

// Page is a part of a list.
type Page interface {
	runtime.Object
	metav1.ListInterface
}

// metadataOnly makes the API server answer with a metav1.PartialObjectMetadataList.
const metadataOnly = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1," +
	"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// List determines which objects a list has.
type List struct {
	Client        rest.Interface
	Resource      string // the plural in the API's paths
	Namespace     string // empty for all
	LabelSelector string
	FieldSelector string
	// InTurn, if it is set, does what decodes a page and takes it in, such as in turn with others: that takes much more memory than
	// the page as it was sent.
	InTurn func(work func())
	// accept asks for a form of the list; empty for the usual one.
	accept string
}

// EachMeta reads a list like [EachPage], but calls take with the metadata of each object, of which it reads nothing
// else. What take keeps of it keeps the memory of the object.
func EachMeta(ctx context.Context, l List, begin func(), take func(*metav1.ObjectMeta)) error {
	l.accept = metadataOnly
	return EachPage(ctx, l, func() *metav1.PartialObjectMetadataList { return &metav1.PartialObjectMetadataList{} }, begin,
		func(page *metav1.PartialObjectMetadataList) {
			for i := range page.Items {
				take(&page.Items[i].ObjectMeta)
			}
		})
}

// EachPage reads a list page by page, each as large as the bounds allow. It calls begin before
// the first page and take with each one. If the list has to start again because a continue
// token has expired, it calls begin again. It keeps no pages, so how much memory a list takes
// depends only on take.
func EachPage[P Page](ctx context.Context, l List, newPage func() P, begin func(), take func(P)) error {
	options := metav1.ListOptions{LabelSelector: l.LabelSelector, FieldSelector: l.FieldSelector, Limit: maxPageObjects}
	begin()
	for starts := 1; ; {
		content, err := l.read(ctx, &options)
		var next string
		items := 0
		if err == nil {
			l.inTurn(func() {
				p := newPage()
				if _, _, err = Codecs.UniversalDeserializer().Decode(content, nil, p); err == nil {
					take(p)
					next, items = p.GetContinue(), meta.LenList(p)
				}
			})
		}
		switch {
		case errors.Is(err, errPageTooLarge):
			options.Limit = max(options.Limit/4, 1)
		case apierrors.IsResourceExpired(err) && options.Continue != "" && starts < maxListStarts:
			starts++
			options.Continue = ""
			begin()
		case err != nil:
			return fmt.Errorf("list %s: %w", l.Resource, err)
		default:
			if options.Continue = next; next == "" {
				return nil
			}
			options.Limit = nextLimit(options.Limit, items, len(content))
		}
	}
}

// nextLimit returns how many objects the next page may have if they are like the objects of
// the last page, with a quarter to spare. It grows slowly, because they may be larger.
func nextLimit(limit int64, objects, size int) int64 {
	fitting := int64(max(objects, 1)) * (MaxPageBytes * 3 / 4) / int64(max(size, 1))
	return max(min(fitting, 2*limit, maxPageObjects), 1)
}

// read returns one page as it was sent. A single object may be of any size.
func (l *List) read(ctx context.Context, options *metav1.ListOptions) (content []byte, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, PageLimit, ErrSlow)
	defer cancel()
	content, err = l.fetch(ctx, options)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), ErrSlow):
		return nil, ErrSlow
	case err == nil && options.Limit > 1 && len(content) > MaxPageBytes:
		return nil, errPageTooLarge
	}
	return content, err
}

func (l *List) inTurn(work func()) {
	if l.InTurn == nil {
		work()
		return
	}
	l.InTurn(work)
}

// fetch returns a page as it was sent. It reads little more than the maximum size.
func (l *List) fetch(ctx context.Context, options *metav1.ListOptions) ([]byte, error) {
	request := l.Client.Get().NamespaceIfScoped(l.Namespace, l.Namespace != "").Resource(l.Resource).
		SpecificallyVersionedParams(options, metav1.ParameterCodec, metav1.SchemeGroupVersion)
	if l.accept != "" {
		request.SetHeader("Accept", l.accept)
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	if options.Limit == 1 {
		return io.ReadAll(body)
	}
	return io.ReadAll(io.LimitReader(body, MaxPageBytes+1))
}
