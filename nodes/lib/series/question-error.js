'use strict';

/** The answer to a wrong question: a sentence for who asked. */
class QuestionError extends RangeError {}

module.exports = { QuestionError };
