package controller

import (
	"context"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/apiclient"
)

const (
	// maxPageObjects and maxPageBytes bound a page of a list. Of pods of 20 KiB a page has
	// about forty; objects of more than half a megabyte, which anybody can make, are read
	// one by one. In memory an object takes several times as much as on the wire.
	maxPageObjects = 500
	maxPageBytes   = 1 << 20
	// maxListStarts is how often a list is begun whose continue token expires.
	maxListStarts = 3
)

// errPageTooLarge is a page that exceeds maxPageBytes.
var errPageTooLarge = errors.New("the page is too large")

// page is a part of a list.
type page interface {
	runtime.Object
	metav1.ListInterface
}

// metadataOnly makes the API server answer with a metav1.PartialObjectMetadataList.
const metadataOnly = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1," +
	"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// lister reads lists page by page, each as large as the bounds allow. It keeps no page, so
// that what a list takes in memory is up to whoever takes the pages in.
type lister struct {
	client    rest.Interface
	resource  string
	namespace string
	selector  string // of labels
	accept    string // a form of the list, such as metadataOnly; empty for the usual one
}

// eachPage calls take with each page of a list, and begin before the first one. If the
// list has to be begun anew, because a continue token has expired, it calls begin again.
func eachPage[P page](ctx context.Context, l lister, newPage func() P, begin func(), take func(P)) error {
	options := metav1.ListOptions{LabelSelector: l.selector, Limit: maxPageObjects}
	begin()
	for starts := 1; ; {
		p := newPage()
		size, err := l.read(ctx, &options, p)
		switch {
		case errors.Is(err, errPageTooLarge):
			options.Limit = max(options.Limit/4, 1)
		case apierrors.IsResourceExpired(err) && options.Continue != "" && starts < maxListStarts:
			starts++
			options.Continue = ""
			begin()
		case err != nil:
			return fmt.Errorf("list %s: %w", l.resource, err)
		default:
			take(p)
			if options.Continue = p.GetContinue(); options.Continue == "" {
				return nil
			}
			options.Limit = nextLimit(options.Limit, meta.LenList(p), size)
		}
	}
}

// nextLimit returns how many objects the next page may have if they are like those of the last
// one, with a quarter to spare. It grows slowly, because they need not be.
func nextLimit(limit int64, objects, size int) int64 {
	fitting := int64(max(objects, 1)) * (maxPageBytes * 3 / 4) / int64(max(size, 1))
	return max(min(fitting, 2*limit, maxPageObjects), 1)
}

// read reads one page and returns its size. A single object may be of any size.
func (l lister) read(ctx context.Context, options *metav1.ListOptions, into page) (size int, err error) {
	request := l.client.Get().Namespace(l.namespace).Resource(l.resource).VersionedParams(options, apiclient.ParameterCodec)
	if l.accept != "" {
		request.SetHeader("Accept", l.accept)
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	var content []byte
	if options.Limit == 1 {
		content, err = io.ReadAll(body)
	} else {
		content, err = io.ReadAll(io.LimitReader(body, maxPageBytes+1))
	}
	switch {
	case err != nil:
		return 0, err
	case options.Limit > 1 && len(content) > maxPageBytes:
		return 0, errPageTooLarge
	}
	_, _, err = apiclient.Codecs.UniversalDeserializer().Decode(content, nil, into)
	return len(content), err
}
