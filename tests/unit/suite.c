/* SPDX-License-Identifier: MIT */
/* How every unit test program ends. */
#include "tests/unit/suite.h"

int suite_run(const char *name, TCase *tcase, enum fork_status fork_status)
{
	Suite *suite = suite_create(name);
	SRunner *runner;
	int failed;

	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, fork_status);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
