package differential

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/rest/fake"

	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// api is the client of the engine. It implements apiclient.Apps.
type api struct{ server *server }

// Deployments implements apiclient.Apps.
func (a api) Deployments(string) apiclient.Deployments { return objects[*appsv1.Deployment](a) }

// ReplicaSets implements apiclient.Apps.
func (a api) ReplicaSets(string) apiclient.ReplicaSets { return objects[*appsv1.ReplicaSet](a) }

// RESTClient implements apiclient.Apps. It reads objects in JSON.
func (a api) RESTClient() rest.Interface {
	answer := func(request *http.Request) (*http.Response, error) {
		resource, name := path.Split(strings.TrimPrefix(request.URL.Path, "/namespaces/"+namespace+"/"))
		found, err := a.server.find(path.Clean(resource), name)
		if err != nil {
			return nil, err
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(must(json.Marshal(found))))}, nil
	}
	return &fake.RESTClient{NegotiatedSerializer: scheme.Codecs, GroupVersion: appsv1.SchemeGroupVersion, Client: fake.CreateHTTPClient(answer)}
}

// objects implements apiclient.Objects.
type objects[T object] struct{ server *server }

func refOf[T object](name string) ref {
	var none T
	return ref{resourceOf(none), name}
}

func as[T object](answer any, err error) (T, error) {
	object, _ := answer.(T)
	return object, err
}

// Get implements apiclient.Objects.
func (o objects[T]) Get(_ context.Context, name string, _ metav1.GetOptions) (T, error) {
	key := refOf[T](name)
	return as[T](o.server.find(key.resource, name))
}

// Create implements apiclient.Objects.
func (o objects[T]) Create(_ context.Context, object T, _ metav1.CreateOptions) (T, error) {
	return as[T](o.server.create(object))
}

// Update implements apiclient.Objects.
func (o objects[T]) Update(_ context.Context, object T, _ metav1.UpdateOptions) (T, error) {
	return as[T](o.server.replace(object, ""))
}

// Patch implements apiclient.Objects.
func (o objects[T]) Patch(_ context.Context, name string, kind types.PatchType, body []byte, _ metav1.PatchOptions, subresources ...string) (T, error) {
	return as[T](o.server.patch(refOf[T](name), kind, body, strings.Join(subresources, "/")))
}

// Delete implements apiclient.Objects.
func (o objects[T]) Delete(_ context.Context, name string, options metav1.DeleteOptions) error {
	return o.server.delete(refOf[T](name), &options)
}
