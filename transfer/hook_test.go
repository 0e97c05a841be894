package transfer

// AfterEach lets a test act after each partition, inside the transaction.
func (o *MigrateOptions) AfterEach(f func(moved int)) { o.step = f }
