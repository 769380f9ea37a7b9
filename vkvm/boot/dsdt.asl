/* SPDX-License-Identifier: MIT */
/*
 * The machine's devices for ACPI.  scripts/gen-dsdt.sh makes dsdt.h of this with iasl; addresses are
 * those of the headers named here.
 */
DefinitionBlock ("", "DSDT", 2, "VKVM  ", "VKVM    ", 1)
{
	Name (\_S5, Package () { 5, 0, 0, 0 })          /* devices/power.h */

	Scope (\_SB)
	{
		Device (PCI0)                           /* machine/vm.h: the window */
		{
			Name (_HID, EisaId ("PNP0A03"))
			Name (_UID, 0)
			Name (_CRS, ResourceTemplate ()
			{
				WordBusNumber (ResourceProducer, MinFixed, MaxFixed, PosDecode,
					0, 0, 0, 0, 1)
				IO (Decode16, 0xcf8, 0xcf8, 1, 8)
				WordIO (ResourceProducer, MinFixed, MaxFixed, PosDecode, EntireRange,
					0, 0, 0xcf7, 0, 0xcf8)
				WordIO (ResourceProducer, MinFixed, MaxFixed, PosDecode, EntireRange,
					0, 0xd00, 0xffff, 0, 0xf300)
				DWordMemory (ResourceProducer, PosDecode, MinFixed, MaxFixed,
					NonCacheable, ReadWrite,
					0, 0xc0000000, 0xfebfffff, 0, 0x3ec00000)
			})
		}

		Device (COM1)                           /* devices/serial.h */
		{
			Name (_HID, EisaId ("PNP0501"))
			Name (_UID, 1)
			Name (_CRS, ResourceTemplate ()
			{
				IO (Decode16, 0x3f8, 0x3f8, 1, 8)
				Interrupt (ResourceConsumer, Edge, ActiveHigh, Exclusive) { 4 }
			})
		}

		Device (PWRB) { Name (_HID, EisaId ("PNP0C0C")) }
		Device (GED)                            /* devices/power.h */
		{
			Name (_HID, "ACPI0013")
			Name (_CRS, ResourceTemplate ()
			{
				Interrupt (ResourceConsumer, Edge, ActiveHigh, Exclusive) { 9 }
			})
			OperationRegion (EVTR, SystemIO, 0x604, 1)
			Field (EVTR, ByteAcc, NoLock, Preserve) { EVTS, 8 }
			Method (_EVT, 1, Serialized)
			{
				If (EVTS & 1) { Notify (\_SB.PWRB, 0x80) }
			}
		}

		Device (VIO0)                           /* virtio/virtio_mmio.h */
		{
			Name (_HID, "LNRO0005")
			Name (_UID, 0)
			Name (_CRS, ResourceTemplate ()
			{
				Memory32Fixed (ReadWrite, 0xd0000000, 0x1000)
				Interrupt (ResourceConsumer, Edge, ActiveHigh, Exclusive) { 5 }
			})
		}
		Device (VIO1)
		{
			Name (_HID, "LNRO0005")
			Name (_UID, 1)
			Name (_CRS, ResourceTemplate ()
			{
				Memory32Fixed (ReadWrite, 0xd0001000, 0x1000)
				Interrupt (ResourceConsumer, Edge, ActiveHigh, Exclusive) { 6 }
			})
		}
		Device (VIO2)
		{
			Name (_HID, "LNRO0005")
			Name (_UID, 2)
			Name (_CRS, ResourceTemplate ()
			{
				Memory32Fixed (ReadWrite, 0xd0002000, 0x1000)
				Interrupt (ResourceConsumer, Edge, ActiveHigh, Exclusive) { 7 }
			})
		}
		Device (VIO3)
		{
			Name (_HID, "LNRO0005")
			Name (_UID, 3)
			Name (_CRS, ResourceTemplate ()
			{
				Memory32Fixed (ReadWrite, 0xd0003000, 0x1000)
				Interrupt (ResourceConsumer, Edge, ActiveHigh, Exclusive) { 10 }
			})
		}
	}
}
