// Package halts keeps the halts in a ConfigMap, so that the next leader knows them, and takes in what people write there.
package halts
