package main
import "context"
func (b *bench) measureShared(ctx context.Context) ([]row, error) { return nil, nil }
func (b *bench) measureDown(ctx context.Context) ([]row, error) { return nil, nil }
func (b *bench) measureKill(ctx context.Context) ([]row, error) { return nil, nil }
func (b *bench) measureFirstStart(ctx context.Context) ([]row, error) { return nil, nil }
