package apiclient

import (
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// Scheme knows the types of the API groups that the program uses, and no others.
// client-go's own scheme knows those of all groups, which takes several MiB of memory.
// It must not be modified.
var Scheme = newScheme()

// Codecs encode and decode the types of [Scheme].
var Codecs = serializer.NewCodecFactory(Scheme)

// ParameterCodec encodes the options of requests.
var ParameterCodec = runtime.NewParameterCodec(Scheme)

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, addToScheme := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, coordinationv1.AddToScheme, authorizationv1.AddToScheme,
	} {
		utilruntime.Must(addToScheme(scheme))
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // the types of answers other than objects
	return scheme
}
