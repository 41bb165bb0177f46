// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ITreasury} from "../../src/ITreasury.sol";
import {Treasury} from "../../src/Treasury.sol";
import {DevToken} from "../../src/dev/DevToken.sol";
import {Test} from "../Test.sol";

/// @notice A Treasury with inventory and without limits on its token and the native token.
abstract contract TreasuryTest is Test {
    uint256 internal constant INTENT = uint256(keccak256("intent"));
    address internal constant NATIVE = address(0);
    uint256 internal constant NO_LIMIT = type(uint256).max;

    address internal immutable owner = named("owner");
    address internal immutable operator = named("operator");
    address internal immutable guardian = named("guardian");
    address internal immutable recipient = named("recipient");
    address internal immutable outsider = named("outsider");

    Treasury internal treasury;
    DevToken internal token;

    function setUp() public virtual {
        address[] memory operators = new address[](1);
        operators[0] = operator;
        treasury = new Treasury(owner, operators);
        token = new DevToken("USD Coin", "USDC", 6, address(treasury), 1_000_000e6);
        vm.deal(address(treasury), 1000 ether);
        vm.warp(1_800_000_000);

        _limit(address(token), NO_LIMIT, 0);
        _limit(NATIVE, NO_LIMIT, 0);
        vm.prank(owner);
        treasury.setGuardian(guardian);
    }

    function _limit(address token_, uint256 limit, uint64 window) internal {
        vm.prank(owner);
        treasury.setOutflowLimit(token_, limit, window);
    }

    function _pay(uint256 intentId, address token_, address to, uint256 amount) internal {
        vm.prank(operator);
        treasury.pay(intentId, token_, to, amount);
    }

    function _pause() internal {
        vm.prank(owner);
        treasury.pause();
    }

    function _expectPaid(uint256 intentId, address token_, address to, uint256 amount) internal {
        vm.expectEmit(address(treasury));
        emit ITreasury.Paid(intentId, token_, to, amount);
    }

    function _expectPaymentFailed(uint256 intentId, address token_, address to, uint256 amount) internal {
        vm.expectRevert(abi.encodeWithSelector(ITreasury.PaymentFailed.selector, intentId, token_, to, amount));
    }

    function _payment(uint256 intentId, address token_, address to, uint256 amount)
        internal
        pure
        returns (ITreasury.Payment memory)
    {
        return ITreasury.Payment({intentId: intentId, token: token_, to: to, amount: amount});
    }
}
