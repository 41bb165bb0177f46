// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IPaymaster} from "../../src/IPaymaster.sol";
import {Reenterer} from "../actors/Reenterer.sol";
import {PaymasterTest} from "../paymaster/PaymasterTest.sol";
import {LooseToken} from "../tokens/LooseToken.sol";
import {RowTest} from "./RowTest.sol";

contract PaymasterRowsTest is PaymasterTest, RowTest {
    function test_G16_NoDepositIsMadeFromInsideOne() external {
        for (uint256 i; i < 3; ++i) {
            _refuses(i, user, true);
            _refuses(i, receiver, true);
            _refuses(i, address(paymaster), false);
        }
    }

    /// @dev The token would move 40 more without a signature, and it calls an operator. So only the guard can refuse
    /// the second deposit.
    function _refuses(uint256 kind, address hookHolder, bool byAuthorization) private {
        LooseToken loose = new LooseToken();
        loose.mint(user, 140);
        Reenterer reenterer = new Reenterer();
        loose.setHook(hookHolder, reenterer);
        vm.prank(owner);
        paymaster.addOperator(address(reenterer));
        reenterer.plan(address(paymaster), _second(kind, address(loose)), 0);

        IPaymaster.Deposit memory deposit = _deposit(address(loose), 100);
        _expectDeposited(deposit);
        if (byAuthorization) _depositWithAuthorization(deposit, Signature(27, 0, 0));
        else _depositWithWalletAuthorization(deposit, "");

        _assertRefused(reenterer);
        _assertHandedOn(deposit, 140);
    }

    function _second(uint256 kind, address token) private view returns (bytes memory) {
        IPaymaster.Deposit memory deposit = _deposit(token, 40);
        if (kind == 0) return abi.encodeCall(IPaymaster.depositWithAuthorization, (deposit, 0, 0, 27, 0, 0));
        if (kind == 1) return abi.encodeCall(IPaymaster.depositWithWalletAuthorization, (deposit, 0, 0, ""));
        return abi.encodeCall(IPaymaster.depositWithPermit, (deposit, 0, FOR_EVER, 27, 0, 0));
    }
}
