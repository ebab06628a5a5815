package apiclient

import (
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/rest"
)

// CustomClients are connections to an API group whose objects are decoded into one type, whatever their kind.
type CustomClients struct {
	// Watch has no limit; see [Clients].
	Watch rest.Interface
	// Objects shares the limit of [Clients.Apps].
	Objects rest.Interface
}

// Custom makes clients of an API group. The function makes an empty object to decode into, whose type must not be part of [Scheme].
func (c *Clients) Custom(version schema.GroupVersion, newObject func() runtime.Object) (CustomClients, error) {
	watching, err := connectCustom(c.watching, c.client, version, newObject)
	if err != nil {
		return CustomClients{}, err
	}
	objects, err := connectCustom(c.working, c.limited, version, newObject)
	return CustomClients{watching, objects}, err
}

// ConnectCustom is like [ConnectGroup] for an API group whose objects are decoded into one type.
func ConnectCustom(config *rest.Config, version schema.GroupVersion, newObject func() runtime.Object) (rest.Interface, error) {
	config = bounded(config)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make HTTP client: %w", err)
	}
	return connectCustom(config, client, version, newObject)
}

func connectCustom(config *rest.Config, client *http.Client, version schema.GroupVersion, newObject func() runtime.Object) (rest.Interface, error) {
	own := rest.CopyConfig(config)
	own.GroupVersion, own.APIPath = &version, "/apis"
	own.ContentType, own.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON // all that custom resources have
	own.NegotiatedSerializer = customCodec{newObject}
	return rest.RESTClientForConfigAndClient(own, client)
}

// customCodec decodes objects of all kinds into one type, and only the answers of the API server itself, such as a
// metav1.Status, into their own.
type customCodec struct{ newObject func() runtime.Object }

// New implements runtime.ObjectCreater.
func (c customCodec) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	if kind == metav1.Unversioned.WithKind("Status") {
		return &metav1.Status{}, nil
	}
	return c.newObject(), nil
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (c customCodec) SupportedMediaTypes() []runtime.SerializerInfo {
	serializer := json.NewSerializerWithOptions(json.DefaultMetaFactory, c, Scheme, json.SerializerOptions{})
	return []runtime.SerializerInfo{{
		MediaType: runtime.ContentTypeJSON, MediaTypeType: "application", MediaTypeSubType: "json", EncodesAsText: true, Serializer: serializer,
		StreamSerializer: &runtime.StreamSerializerInfo{EncodesAsText: true, Serializer: serializer, Framer: json.Framer},
	}}
}

// EncoderForVersion implements runtime.NegotiatedSerializer.
func (customCodec) EncoderForVersion(encoder runtime.Encoder, _ runtime.GroupVersioner) runtime.Encoder {
	return encoder
}

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (customCodec) DecoderToVersion(decoder runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	return decoder
}
