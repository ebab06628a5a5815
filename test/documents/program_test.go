// Package documents has the tests of what describes the program: documents, charts, dashboards, and the files of the
// repository. They read the program's source, and run in the root of the repository.
package documents

import (
	"fmt"
	"go/ast"
	"go/types"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/controller"
	"kubernetes-deployment-restart-controller/deployment"
	"kubernetes-deployment-restart-controller/internal/permissions"
)

const module = "kubernetes-deployment-restart-controller"

func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// A programFlag is a flag as options.go has it: the tag and the type of its field.
type programFlag struct {
	reflect.StructTag
	typeName string
}

// programFlags returns the program's flags.
func programFlags(t *testing.T) (flags []programFlag) {
	t.Helper()
	eachParsed(t, ".", func(_ string, parsed *ast.File) {
		ast.Inspect(parsed, func(node ast.Node) bool {
			field, isField := node.(*ast.Field)
			if isField && field.Tag != nil {
				if tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`")); tag.Get("long") != "" {
					flags = append(flags, programFlag{tag, types.ExprString(field.Type)})
				}
			}
			return true
		})
	})
	if len(flags) < 20 {
		t.Fatalf("only %d flags were found", len(flags))
	}
	return flags
}

// programCollectors returns what exports the program's metrics, apart from the process and the version.
func programCollectors(t *testing.T) []prometheus.Collector {
	t.Helper()
	api, log := &rest.Config{Host: "http://127.0.0.1:1"}, slog.New(slog.DiscardHandler)
	restarts, err := controller.New(controller.Options{API: api, QPS: 1, Burst: 1, OwnNamespace: "own", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	deployments, err := deployment.New(deployment.Options{API: api, QPS: 1, Burst: 1, Workers: 1, OwnNamespace: "own", Standby: true, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	return []prometheus.Collector{restarts, deployments, &permissions.Missing{}}
}

func programRegistry(t *testing.T) *prometheus.Registry {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(append(programCollectors(t), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))...)
	return registry
}

var versionInSource = regexp.MustCompile(`(?m)^\tversion += "([0-9.]+)"$`)

func programVersion(t *testing.T) string {
	t.Helper()
	match := versionInSource.FindStringSubmatch(readDocument(t, module+".go"))
	if match == nil {
		t.Fatal("the version was not found")
	}
	return match[1]
}
